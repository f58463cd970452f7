"""Rows of every record kind as the Arrow tables of shards: clips, frames, images, videos, steps."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Protocol, TypeVar, runtime_checkable

import numpy as np
import pyarrow as pa
from jaxtyping import Float16, Int32

from vtr_core.data.records.arrays import fixed_size_binary, sequence_binary
from vtr_core.data.records.schema import (
    CAPTION_VECTORS,
    FEATURE_DTYPE,
    FRAMES,
    PIXELS,
    TOKEN_DTYPE,
    ClipSchema,
    FeatureSpec,
    FrameSchema,
    ImageSchema,
    StepSchema,
    VideoSchema,
    kept_column,
)
from vtr_core.data.shards.shard_file import GroupSize, GroupTable, caption_key, row_groups
from vtr_core.data.sources.source import (
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


def caption_tokens(
    captions: Sequence[str], vocabulary: Vocabulary, max_words: int, drops: Drops
) -> Int32[np.ndarray, "captions max_words"]:
    """The first `max_words` token ids of every caption; longer captions are counted as shortened."""
    known = vocabulary.known_all(captions)
    drops.shortened += sum(len(ids) > max_words for ids in known)
    rows = [padded_ids(ids, max_words) for ids in known]
    return np.array(rows, TOKEN_DTYPE).reshape(len(captions), max_words)


@runtime_checkable
class Framed(Protocol):
    """A video with its features by name, each (frames, dim)."""

    @property
    def features(self) -> Mapping[str, Float16[np.ndarray, "_ _"]]:
        """The features that the video has."""
        ...


V = TypeVar("V", bound=Framed)


def video_row_groups(videos: Iterable[V | None], table: Callable[[Sequence[V]], pa.Table]) -> Iterator[GroupTable]:
    """The row groups of `videos`, one row each, built by `table`; None stands for an unusable video."""
    usable = (video for video in videos if video is not None)
    for group in row_groups(usable, _size):
        yield GroupTable(table(group), (1,) * len(group))


def frame_columns(features: Sequence[FeatureSpec], videos: Sequence[Framed]) -> dict[str, pa.Array | Sequence[object]]:
    """The columns of every feature: cells of (frames, dim), and the number of frames, 0 where a video lacks it."""
    columns: dict[str, pa.Array | Sequence[object]] = {}
    for feature in features:
        frames = [video.features.get(feature.name) for video in videos]
        columns[feature.name] = sequence_binary(frames)
        columns[feature.count] = [0 if cell is None else len(cell) for cell in frames]
    return columns


def _size(video: Framed) -> GroupSize:
    return GroupSize(1, sum(frames.nbytes for frames in video.features.values()))


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
    for group in row_groups(usable, lambda video: _clips_size(video, schema)):
        yield GroupTable(_table(group, schema, vocabulary, drops), tuple(len(video.clips) for video in group))


def _clips_size(video: VideoClips, schema: ClipSchema) -> GroupSize:
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
    for group in row_groups((video for video in read if video.clips), _frames_size):
        yield GroupTable(_frames_table(group, schema, vocabulary, drops), tuple(len(video.clips) for video in group))


def _frames_size(video: VideoFrames) -> GroupSize:
    return GroupSize(len(video.clips), sum(len(frame) for clip in video.clips for frame in clip.frames))


def _frames_table(group: Sequence[VideoFrames], schema: FrameSchema, vocabulary: Vocabulary, drops: Drops) -> pa.Table:
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


@dataclass(frozen=True)
class SubjectImages:
    """All images of one subject, at least one."""

    subject: str
    images: Sequence[FaceImage]


def image_groups(source: ImageSource, schema: ImageSchema, subjects: Iterable[VideoEntry]) -> Iterator[GroupTable]:
    """The row groups of the images of `subjects`."""
    read = (SubjectImages(subject.video_id, list(source.images(subject))) for subject in subjects)
    size = schema.height * schema.width * schema.channels
    for group in row_groups(read, lambda one: GroupSize(len(one.images), len(one.images) * size)):
        yield GroupTable(_images_table(group, schema), tuple(len(one.images) for one in group))


def _images_table(group: Sequence[SubjectImages], schema: ImageSchema) -> pa.Table:
    images = [image for one in group for image in one.images]
    subjects = [one.subject for one in group for _ in one.images]
    columns: dict[str, pa.Array | Sequence[object]] = {
        "image_id": [image.image_id for image in images],
        "subject": subjects,
        "clip_key": [key64(image.image_id) for image in images],
        "video_key": [key64(subject) for subject in subjects],
        PIXELS: fixed_size_binary(np.stack([image.pixels.reshape(-1) for image in images])),
    }
    return pa.table(columns, schema=schema.arrow())


def video_groups(
    source: VideoSource, schema: VideoSchema, vocabulary: Vocabulary, videos: Iterable[VideoEntry], drops: Drops
) -> Iterator[GroupTable]:
    """The row groups of `videos`. A video that cannot be used is left out."""
    read = (source.video(video, drops) for video in videos)
    yield from video_row_groups(read, lambda group: _videos_table(group, schema, vocabulary, drops))


def _videos_table(group: Sequence[Video], schema: VideoSchema, vocabulary: Vocabulary, drops: Drops) -> pa.Table:
    for video in group:
        _check_caption_vectors(video)
    tokens = [caption_tokens(video.captions, vocabulary, schema.max_words, drops) for video in group]
    columns: dict[str, pa.Array | Sequence[object]] = {
        "video_id": [video.video_id for video in group],
        "video_key": [key64(video.video_id) for video in group],
        "captions": [list(video.captions) for video in group],
        "caption_keys": [[caption_key(caption) for caption in video.captions] for video in group],
        "tokens": sequence_binary(tokens),
        **frame_columns(schema.features, group),
    }
    return pa.table(columns, schema=schema.arrow())


def _check_caption_vectors(video: Video) -> None:
    vectors = video.features.get(CAPTION_VECTORS)
    if vectors is not None and len(vectors) != len(video.captions):
        raise InputError(
            f"video {video.video_id} has {len(vectors)} {CAPTION_VECTORS} vectors and {len(video.captions)} captions; "
            "give one for each caption, in order"
        )


def step_groups(
    source: StepSource, schema: StepSchema, vocabulary: Vocabulary, videos: Iterable[VideoEntry], drops: Drops
) -> Iterator[GroupTable]:
    """The row groups of `videos`. A video that cannot be used is left out."""
    read = (source.step_video(video, drops) for video in videos)
    yield from video_row_groups(read, lambda group: _steps_table(group, schema, vocabulary, drops))


def _steps_table(group: Sequence[StepVideo], schema: StepSchema, vocabulary: Vocabulary, drops: Drops) -> pa.Table:
    columns: dict[str, pa.Array | Sequence[object]] = {
        "video_id": [video.video_id for video in group],
        "video_key": [key64(video.video_id) for video in group],
        "task": [video.task for video in group],
        "steps": [list(video.steps) for video in group],
        "labels": [list(video.labels) for video in group],
        "tokens": sequence_binary([_tokens(video, schema, vocabulary, drops) for video in group]),
        "segments": [[asdict(segment) for segment in video.segments] for video in group],
        **frame_columns(schema.features, group),
    }
    return pa.table(columns, schema=schema.arrow())


def _tokens(
    video: StepVideo, schema: StepSchema, vocabulary: Vocabulary, drops: Drops
) -> Int32[np.ndarray, "steps max_words"]:
    assert len(video.steps) == len(video.labels) > 0, f"{video.video_id}: a label for each step, and at least one step"
    return caption_tokens(video.steps, vocabulary, schema.max_words, drops)
