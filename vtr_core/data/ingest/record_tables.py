"""Rows of every record kind as the Arrow tables of shards: clips, frames, images, videos, steps."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict
from typing import Any, assert_never

import numpy as np
import pyarrow as pa
from jaxtyping import Int32

from vtr_core.data.records.arrays import fixed_size_binary, sequence_binary
from vtr_core.data.records.schema import (
    CAPTION_VECTORS,
    FEATURE_DTYPE,
    FRAMES,
    PIXELS,
    TOKEN_DTYPE,
    ClipSchema,
    FrameSchema,
    ImageSchema,
    Schema,
    StepSchema,
    VideoSchema,
    kept_column,
)
from vtr_core.data.shards.shard_file import GroupSize, GroupTable, caption_key, video_groups
from vtr_core.data.sources.source import (
    AnySource,
    Clip,
    ClipSource,
    Drops,
    FaceImage,
    FrameClip,
    FrameSource,
    ImageSource,
    StepSource,
    StepVideo,
    Video,
    VideoEntry,
    VideoSource,
)
from vtr_core.errors import InputError
from vtr_core.fingerprint import key64
from vtr_core.text.tokens.vocabulary import Vocabulary, padded_ids

Columns = dict[str, pa.Array | Sequence[object]]
Record = Clip | FrameClip | Video | StepVideo | FaceImage


def caption_tokens(
    captions: Sequence[str], vocabulary: Vocabulary, max_words: int, drops: Drops
) -> Int32[np.ndarray, "captions max_words"]:
    """The first `max_words` token ids of every caption; longer captions are counted as shortened."""
    known = vocabulary.known_all(captions)
    drops.shortened += sum(len(ids) > max_words for ids in known)
    rows = [padded_ids(ids, max_words) for ids in known]
    return np.array(rows, TOKEN_DTYPE).reshape(len(captions), max_words)


def record_groups(
    source: AnySource, schema: Schema, vocabulary: Vocabulary, videos: Iterable[VideoEntry], drops: Drops
) -> Iterator[GroupTable]:
    """The row groups of the rows that `source` makes of `videos`. A video without a usable row is left out."""
    read = ((video.video_id, _records(source, video, drops)) for video in videos)
    usable = ((video_id, rows) for video_id, rows in read if rows)
    for group in video_groups(
        usable, lambda video: GroupSize(len(video[1]), sum(_size(row, schema) for row in video[1]))
    ):
        rows = [row for _, own in group for row in own]
        video_ids = [video_id for video_id, own in group for _ in own]
        columns = _columns(schema, rows, video_ids, vocabulary, drops)
        yield GroupTable(pa.table(columns, schema=schema.arrow()), tuple(len(own) for _, own in group))


def _records(source: AnySource, video: VideoEntry, drops: Drops) -> Sequence[Record]:
    """The rows of a video."""
    match source:
        case ClipSource():
            return list(source.clips(video, drops))
        case VideoSource() | StepSource():
            row = source.video(video, drops) if isinstance(source, VideoSource) else source.step_video(video, drops)
            return [] if row is None else [row]
        case ImageSource():
            return list(source.images(video))
        case FrameSource():
            return list(source.frame_clips(video, drops))
        case _:
            assert_never(source)


def _size(row: Record, schema: Schema) -> int:
    """Bytes of a row's features, frames or pixels; a clip has those of all features."""
    match row:
        case Clip():
            return sum(feature.dim for feature in schema.features) * FEATURE_DTYPE.itemsize
        case FrameClip():
            return sum(map(len, row.frames))
        case FaceImage():
            return row.pixels.size
        case _:
            return sum(frames.nbytes for frames in row.features.values())


def _columns(
    schema: Schema, rows: Sequence[Any], video_ids: Sequence[str], vocabulary: Vocabulary, drops: Drops
) -> Columns:
    def tokens(captions: Sequence[str]) -> Int32[np.ndarray, "captions max_words"]:
        return caption_tokens(captions, vocabulary, schema.max_words, drops)

    video_keys = [key64(video_id) for video_id in video_ids]
    match schema:
        case ClipSchema():
            return {
                **_spans(rows, video_ids),
                "caption": [clip.caption for clip in rows],
                "caption_key": [caption_key(clip.caption) for clip in rows],
                "tokens": fixed_size_binary(tokens([clip.caption for clip in rows])),
                **_clip_features(schema, rows),
                **{kept_column(name): [clip.metadata.get(name, "") for clip in rows] for name in schema.kept},
            }
        case FrameSchema():
            return {
                **_spans(rows, video_ids),
                **_captions(rows),
                "tokens": sequence_binary([tokens(clip.captions) for clip in rows]),
                "times": [list(clip.times) for clip in rows],
                FRAMES: [list(clip.frames) for clip in rows],
            }
        case ImageSchema():
            return {
                "image_id": [image.image_id for image in rows],
                "subject": video_ids,
                "clip_key": [key64(image.image_id) for image in rows],
                "video_key": video_keys,
                PIXELS: fixed_size_binary(np.stack([image.pixels.reshape(-1) for image in rows])),
            }
        case VideoSchema():
            for video in rows:
                vectors = video.features.get(CAPTION_VECTORS)
                if vectors is not None and len(vectors) != len(video.captions):
                    raise InputError(
                        f"video {video.video_id} has {len(vectors)} {CAPTION_VECTORS} vectors and "
                        f"{len(video.captions)} captions; give one for each caption, in order"
                    )
            return {
                "video_id": video_ids,
                "video_key": video_keys,
                **_captions(rows),
                "tokens": sequence_binary([tokens(video.captions) for video in rows]),
                **_frame_columns(schema, rows),
            }
        case StepSchema():
            assert all(len(video.steps) == len(video.labels) > 0 for video in rows), (
                "a label for each step, one at least"
            )
            return {
                "video_id": video_ids,
                "video_key": video_keys,
                "task": [video.task for video in rows],
                "steps": [list(video.steps) for video in rows],
                "labels": [list(video.labels) for video in rows],
                "tokens": sequence_binary([tokens(video.steps) for video in rows]),
                "segments": [[asdict(segment) for segment in video.segments] for video in rows],
                **_frame_columns(schema, rows),
            }
        case _:
            assert_never(schema)


def _spans(clips: Sequence[Clip | FrameClip], video_ids: Sequence[str]) -> Columns:
    return {
        "clip_id": [clip.clip_id for clip in clips],
        "clip_key": [key64(clip.clip_id) for clip in clips],
        "video_id": video_ids,
        "video_key": [key64(video_id) for video_id in video_ids],
        "start": [clip.start for clip in clips],
        "end": [clip.end for clip in clips],
    }


def _captions(rows: Sequence[FrameClip | Video]) -> Columns:
    return {
        "captions": [list(row.captions) for row in rows],
        "caption_keys": [[caption_key(caption) for caption in row.captions] for row in rows],
    }


def _clip_features(schema: ClipSchema, clips: Sequence[Clip]) -> Columns:
    """(clips, dim) float16 of every feature, zeros for clips without it, which the presence column marks."""
    columns: Columns = {}
    for feature in schema.features:
        stacked = np.zeros((len(clips), feature.dim), FEATURE_DTYPE)
        for row, clip in zip(stacked, clips, strict=True):
            if feature.name in clip.features:
                row[:] = clip.features[feature.name]
        columns[feature.name] = fixed_size_binary(stacked)
        columns[feature.presence] = [feature.name in clip.features for clip in clips]
    return columns


def _frame_columns(schema: Schema, videos: Sequence[Video | StepVideo]) -> Columns:
    """The columns of every feature: cells of (frames, dim), and the number of frames, 0 where a video lacks it."""
    columns: Columns = {}
    for feature in schema.features:
        frames = [video.features.get(feature.name) for video in videos]
        columns[feature.name] = sequence_binary(frames)
        columns[feature.count] = [0 if cell is None else len(cell) for cell in frames]
    return columns
