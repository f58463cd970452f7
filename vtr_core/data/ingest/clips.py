"""Shards of `clips`: one row per clip and caption, with one vector per feature."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from vtr_core.data.ingest.caption_tokens import caption_tokens
from vtr_core.data.records.binary_columns import fixed_size_binary
from vtr_core.data.records.schema import FEATURE_DTYPE, ClipSchema, FeatureSpec, kept_column
from vtr_core.data.shards.writing import GroupSize, GroupTable, caption_key, row_groups
from vtr_core.data.sources.source import Clip, ClipSource, Drops, VideoEntry
from vtr_core.fingerprint import key64
from vtr_core.text.tokens.vocabulary import Vocabulary


@dataclass(frozen=True)
class VideoClips:
    """The clips of one video, at least one."""

    video_id: str
    clips: Sequence[Clip]


def clip_groups(
    source: ClipSource, schema: ClipSchema, vocabulary: Vocabulary, videos: Iterable[VideoEntry], drops: Drops
) -> Iterator[GroupTable]:
    """The row groups of the clips of `videos`. A video without a usable clip is left out."""
    read = (VideoClips(video.video_id, list(source.clips(video, drops))) for video in videos)
    usable = (video for video in read if video.clips)
    for group in row_groups(usable, lambda video: _size(video, schema)):
        yield GroupTable(_table(group, schema, vocabulary, drops), tuple(len(video.clips) for video in group))


def _size(video: VideoClips, schema: ClipSchema) -> GroupSize:
    values = sum(feature.dim for feature in schema.features)
    return GroupSize(len(video.clips), len(video.clips) * values * FEATURE_DTYPE.itemsize)


def _table(group: Sequence[VideoClips], schema: ClipSchema, vocabulary: Vocabulary, drops: Drops) -> pa.Table:
    clips = [clip for video in group for clip in video.clips]
    video_ids = [video.video_id for video in group for _ in video.clips]
    tokens = caption_tokens([clip.caption for clip in clips], vocabulary, schema.max_words, drops)
    columns: dict[str, pa.Array | Sequence[object]] = {
        "clip_id": [clip.clip_id for clip in clips],
        "video_id": video_ids,
        "start": [clip.start for clip in clips],
        "end": [clip.end for clip in clips],
        "caption": [clip.caption for clip in clips],
        "clip_key": [key64(clip.clip_id) for clip in clips],
        "video_key": [key64(video_id) for video_id in video_ids],
        "caption_key": [caption_key(clip.caption) for clip in clips],
        "tokens": fixed_size_binary(tokens),
    }
    for feature in schema.features:
        columns[feature.name] = fixed_size_binary(_stack(clips, feature))
        columns[feature.presence] = [feature.name in clip.features for clip in clips]
    for name in schema.kept:
        columns[kept_column(name)] = [clip.metadata.get(name, "") for clip in clips]
    return pa.table(columns, schema=schema.arrow())


def _stack(clips: Sequence[Clip], feature: FeatureSpec) -> np.ndarray:
    """(clips, dim) float16; zeros for clips without the feature, which the presence column marks."""
    stacked = np.zeros((len(clips), feature.dim), FEATURE_DTYPE)
    for row, clip in zip(stacked, clips, strict=True):
        if feature.name in clip.features:
            row[:] = clip.features[feature.name]
    return stacked
