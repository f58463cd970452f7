"""Shards of `frames`: one row per clip, with all its captions and frames; the clips of a video are adjacent."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import pyarrow as pa

from vtr_core.data.ingest.caption_tokens import caption_tokens
from vtr_core.data.records.binary_columns import sequence_binary
from vtr_core.data.records.schema import FRAMES, FrameSchema
from vtr_core.data.shards.writing import GroupSize, GroupTable, caption_key, row_groups
from vtr_core.data.sources.source import Drops, FrameClip, FrameSource, VideoEntry
from vtr_core.fingerprint import key64
from vtr_core.text.tokens.vocabulary import Vocabulary


@dataclass(frozen=True)
class VideoFrames:
    """The clips of one video, at least one."""

    video_id: str
    clips: Sequence[FrameClip]


def frame_groups(
    source: FrameSource, schema: FrameSchema, vocabulary: Vocabulary, videos: Iterable[VideoEntry], drops: Drops
) -> Iterator[GroupTable]:
    """The row groups of the clips of `videos`. A video without a usable clip is left out."""
    read = (VideoFrames(video.video_id, list(source.frame_clips(video, drops))) for video in videos)
    for group in row_groups((video for video in read if video.clips), _size):
        yield GroupTable(_table(group, schema, vocabulary, drops), tuple(len(video.clips) for video in group))


def _size(video: VideoFrames) -> GroupSize:
    return GroupSize(len(video.clips), sum(len(frame) for clip in video.clips for frame in clip.frames))


def _table(group: Sequence[VideoFrames], schema: FrameSchema, vocabulary: Vocabulary, drops: Drops) -> pa.Table:
    clips = [clip for video in group for clip in video.clips]
    video_ids = [video.video_id for video in group for _ in video.clips]
    tokens = [caption_tokens(clip.captions, vocabulary, schema.max_words, drops) for clip in clips]
    columns: dict[str, pa.Array | Sequence[object]] = {
        "clip_id": [clip.clip_id for clip in clips],
        "clip_key": [key64(clip.clip_id) for clip in clips],
        "video_id": video_ids,
        "video_key": [key64(video_id) for video_id in video_ids],
        "start": [clip.start for clip in clips],
        "end": [clip.end for clip in clips],
        "captions": [list(clip.captions) for clip in clips],
        "caption_keys": [[caption_key(caption) for caption in clip.captions] for clip in clips],
        "tokens": sequence_binary(tokens),
        "times": [list(clip.times) for clip in clips],
        FRAMES: [list(clip.frames) for clip in clips],
    }
    return pa.table(columns, schema=schema.arrow())
