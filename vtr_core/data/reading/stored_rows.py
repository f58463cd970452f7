"""Stored frames, encoded and decoded, ordered steps, and captions without frames, row by row."""

import io
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from jaxtyping import Float16, Int32, Int64, UInt8
from PIL import Image

from vtr_core.data.manifest import Manifest
from vtr_core.data.plan import RowGroup, row_groups
from vtr_core.data.reading.row_groups import RowGroupReader, training_columns
from vtr_core.data.records.arrays import TimedLabel, as_sequences
from vtr_core.data.records.schema import (
    FEATURE_DTYPE,
    FRAMES,
    TOKEN_DTYPE,
    FeatureSpec,
    FrameSchema,
    require_frames,
    require_videos,
)
from vtr_core.data.shards.shard_file import DamagedShard


class BadPicture(Exception):
    """A stored frame does not have the format of its data set; the message says what was found."""


def decoded(frames: Sequence[bytes], schema: FrameSchema) -> UInt8[np.ndarray, "frames height width 3"]:
    """The pixels of a clip's frames, RGB; BadPicture where there are none, or one does not conform to `schema`."""
    pixels, size = [], f"{schema.height} × {schema.width}"
    for content in frames:
        try:
            with Image.open(io.BytesIO(content), formats=["JPEG"]) as image:
                if (image.height, image.width) != (schema.height, schema.width):
                    raise BadPicture(f"a frame has {image.height} × {image.width} pixels, not {size}")
                pixels.append(np.asarray(image.convert("RGB")))
        except (OSError, ValueError, SyntaxError, Image.DecompressionBombError) as error:
            raise BadPicture(f"a frame is no JPEG that can be decoded ({error})") from error
    if not pixels:
        raise BadPicture("the clip has no frame")
    return np.stack(pixels)


@dataclass(frozen=True)
class StoredClip:
    """A stored row with the sampled ones of its encoded frames."""

    group: int
    row: int
    frames: list[bytes]
    tokens: Int32[np.ndarray, "captions max_words"]
    caption_keys: list[int]
    clip_key: int
    video_key: int


@dataclass(frozen=True)
class StoredClips:
    """A row group as read."""

    number: int
    columns: dict[str, pa.Array]
    schema: FrameSchema

    def clip(self, row: int, max_frames: int) -> StoredClip:
        """The clip of one row, with at most `max_frames` frames in equal steps from the first to the last."""
        columns = self.columns
        frames = columns[FRAMES][row].values
        return StoredClip(
            group=self.number,
            row=row,
            frames=[frames[i].as_py() for i in taken_frames(len(frames), max_frames)],
            tokens=as_sequences(columns["tokens"][row : row + 1], self.schema.max_words, TOKEN_DTYPE).vectors,
            caption_keys=columns["caption_keys"][row].as_py(),
            clip_key=columns["clip_key"][row].as_py(),
            video_key=columns["video_key"][row].as_py(),
        )


def taken_frames(count: int, max_frames: int) -> Sequence[int]:
    """The places of at most `max_frames` of `count` frames, in equal steps from the first to the last."""
    if count <= max_frames:
        return range(count)
    places: list[int] = np.linspace(0, count - 1, max_frames).astype(int).tolist()
    return places


def undecodable(manifest: Manifest, place: RowGroup, row: int, fault: BadPicture) -> DamagedShard:
    """The error for a clip with an undecodable frame, with its place and what to do."""
    file = manifest.place(manifest.shards[place.shard])
    return DamagedShard(f"{file}, row group {place.index}, row {row}: {fault}; restore or rebuild it")


@dataclass(frozen=True)
class PictureRows:
    """Consecutive clips with their frames, and all their captions, clip by clip.

    Captions have separate rows: caption c belongs to clip `caption_clip[c]`, a position among these clips.
    """

    frames: UInt8[np.ndarray, "clips frames height width 3"]
    """Padded with zeros to the longest."""
    kept: Int64[np.ndarray, " clips"]
    clip_id: tuple[str, ...]
    clip_key: Int64[np.ndarray, " clips"]
    video_key: Int64[np.ndarray, " clips"]
    captions: tuple[str, ...]
    """The original texts, for models with another vocabulary."""
    tokens: Int32[np.ndarray, "captions max_words"]
    """Tokens of the data set's vocabulary."""
    caption_clip: Int64[np.ndarray, " captions"]


def picture_rows(
    manifest: Manifest, places: Sequence[RowGroup], max_frames: int, max_clips: int
) -> Iterator[PictureRows]:
    """All clips of the row groups `places`, in order, at most `max_clips` together.

    Raises SchemaMismatch for other data sets, DamagedShard for a row group or frame that cannot be read.
    """
    schema = require_frames(manifest.schema, manifest.uri)
    reader = RowGroupReader(manifest, [*training_columns(schema), "captions", "clip_id"])
    for number, place in enumerate(places):
        stored = StoredClips(number, reader.read_arrow(place), schema)
        rows = len(stored.columns["clip_key"])
        for first in range(0, rows, max_clips):
            clips = [stored.clip(row, max_frames) for row in range(first, min(first + max_clips, rows))]
            lengths = np.array([len(clip.frames) for clip in clips], np.int64)
            frames = np.zeros((len(clips), int(lengths.max()), schema.height, schema.width, 3), np.uint8)
            for target, clip in zip(frames, clips, strict=True):
                try:
                    target[: len(clip.frames)] = decoded(clip.frames, schema)
                except BadPicture as fault:
                    raise undecodable(manifest, place, clip.row, fault) from fault
            yield PictureRows(
                frames=frames,
                kept=lengths,
                clip_id=tuple(stored.columns["clip_id"][first : first + max_clips].to_pylist()),
                clip_key=np.array([clip.clip_key for clip in clips], np.int64),
                video_key=np.array([clip.video_key for clip in clips], np.int64),
                captions=tuple(stored.columns["captions"][first : first + max_clips].flatten().to_pylist()),
                tokens=np.concatenate([clip.tokens for clip in clips]),
                caption_clip=np.repeat(np.arange(len(clips)), [len(clip.tokens) for clip in clips]),
            )


@dataclass(frozen=True)
class StoredSteps:
    """A stored video with all requested features; absent features have no rows."""

    video_id: str
    task: str
    steps: tuple[str, ...]
    labels: tuple[str, ...]
    segments: tuple[TimedLabel, ...]
    features: Mapping[str, Float16[np.ndarray, "_ _"]]


def read_steps(
    manifest: Manifest, features: Sequence[FeatureSpec], places: Sequence[RowGroup] | None = None
) -> Iterator[StoredSteps]:
    """The videos in `places` (default: all), in file order, with `features`; one row group in memory at a time."""
    text = ["video_id", "task", "steps", "labels", "segments"]
    reader = RowGroupReader(manifest, [*text, *(feature.name for feature in features)])
    for place in row_groups(manifest) if places is None else places:
        columns = reader.read_arrow(place)
        frames = {}
        for feature in features:
            cells = as_sequences(columns[feature.name], feature.dim, FEATURE_DTYPE)
            frames[feature.name] = np.split(cells.vectors, np.cumsum(cells.counts)[:-1])
        rows = zip(*(columns[name].to_pylist() for name in text), strict=True)
        for row, (video_id, task, steps, labels, segments) in enumerate(rows):
            timed = tuple(TimedLabel(**segment) for segment in segments)
            own = {name: cells[row] for name, cells in frames.items()}
            yield StoredSteps(video_id, task, tuple(steps), tuple(labels), timed, own)


@dataclass(frozen=True)
class VideoTexts:
    """All videos in file order, and their captions, video by video."""

    video_id: tuple[str, ...]
    video_key: Int64[np.ndarray, " videos"]
    captions: tuple[str, ...]
    caption_key: Int64[np.ndarray, " captions"]
    caption_video: Int64[np.ndarray, " captions"]
    """The index of each caption's video."""


def video_texts(manifest: Manifest) -> VideoTexts:
    """The texts of a data set. Raises DamagedShard, and SchemaMismatch for data sets of other kinds."""
    require_videos(manifest.schema, manifest.uri)
    reader = RowGroupReader(manifest, ["video_id", "video_key", "captions", "caption_keys"])
    table = pa.concat_tables(pa.table(reader.read_arrow(place)) for place in row_groups(manifest))
    counts = pc.list_value_length(table["captions"]).to_numpy()
    return VideoTexts(
        video_id=tuple(table["video_id"].to_pylist()),
        video_key=table["video_key"].to_numpy(),
        captions=tuple(pc.list_flatten(table["captions"]).to_pylist()),
        caption_key=pc.list_flatten(table["caption_keys"]).to_numpy(),
        caption_video=np.repeat(np.arange(len(counts), dtype=np.int64), counts),
    )
