"""Clips of a `frames` data set with their encoded frames, in the order of their rows; and decoded, for evaluation."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from jaxtyping import Int32, Int64, UInt8

from vtr_core.data.manifest import Manifest
from vtr_core.data.plan.plan import RowGroup
from vtr_core.data.reading.row_groups import RowGroupReader, training_columns
from vtr_core.data.records.binary_columns import as_sequences
from vtr_core.data.records.pictures import BadPicture, decoded
from vtr_core.data.records.required_kind import require_frames
from vtr_core.data.records.schema import FRAMES, TOKEN_DTYPE, FrameSchema
from vtr_core.data.shards.shard_file import DamagedShard


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
            texts = stored.columns["captions"][first : first + max_clips].flatten().to_pylist()
            names = stored.columns["clip_id"][first : first + max_clips].to_pylist()
            yield _together(clips, names, texts, manifest, place)


def _together(
    clips: Sequence[StoredClip], names: Sequence[str], texts: Sequence[str], manifest: Manifest, place: RowGroup
) -> PictureRows:
    schema = require_frames(manifest.schema, manifest.uri)
    kept = np.array([len(clip.frames) for clip in clips], np.int64)
    frames = np.zeros((len(clips), int(kept.max()), schema.height, schema.width, 3), np.uint8)
    for target, clip in zip(frames, clips, strict=True):
        try:
            target[: len(clip.frames)] = decoded(clip.frames, schema)
        except BadPicture as fault:
            raise undecodable(manifest, place, clip.row, fault) from fault
    return PictureRows(
        frames=frames,
        kept=kept,
        clip_id=tuple(names),
        clip_key=np.array([clip.clip_key for clip in clips], np.int64),
        video_key=np.array([clip.video_key for clip in clips], np.int64),
        captions=tuple(texts),
        tokens=np.concatenate([clip.tokens for clip in clips]),
        caption_clip=np.repeat(np.arange(len(clips)), [len(clip.tokens) for clip in clips]),
    )
