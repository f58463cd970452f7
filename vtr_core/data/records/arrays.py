"""Columns of records as arrays, and annotations of steps."""

import hashlib
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
import pyarrow as pa
from jaxtyping import Bool, Float16, Float32, Int64, Shaped

from vtr_core import storage
from vtr_core.data.records.schema import CAPTION_VECTORS, FEATURE_DTYPE, TOKEN_DTYPE, VideoSchema
from vtr_core.errors import DatasetError, InputError
from vtr_core.storage import Location

FILE = "pairs.json"
_MOST_LISTED = 2_000_000
"""Up to this number, different pairs are drawn from an explicit list; otherwise by rejection sampling."""


@dataclass(frozen=True)
class FacePair:
    """Two images by their ids, whether they show different subjects, and the pair's fold."""

    first: str
    second: str
    different: bool
    fold: int = 0


@dataclass(frozen=True)
class PairList:
    """Pairs in order, and their origin."""

    pairs: tuple[FacePair, ...]
    origin: str
    """The seed, or the file of the pairs."""


@dataclass(frozen=True)
class PairFile:
    """The manifest's record of the file of a pair list."""

    file: str
    sha256: str
    matching: int
    different: int
    origin: str


def draw_pairs(images: Mapping[str, Sequence[str]], most: int, seed: int) -> PairList:
    """A balanced list of at most `most` matching pairs of images and as many different ones.

    All matching pairs are taken, or `most` of them drawn; different ones are drawn without replacement. A function of
    the images and the seed. Raises InputError where there are no pairs of a kind.
    """
    names = [(image, subject) for subject in sorted(images) for image in sorted(images[subject])]
    matching = [pair for subject in sorted(images) for pair in combinations(sorted(images[subject]), 2)]
    total = len(names) * (len(names) - 1) // 2 - len(matching)
    if not matching or not total:
        raise InputError(
            f"{len(images)} subjects with {len(names)} images make {len(matching)} matching and {total} different "
            "pairs; verification needs both: give at least two subjects, one of them with two images"
        )
    generator = np.random.default_rng(seed)
    count = min(most, len(matching), total)
    chosen = np.sort(generator.choice(len(matching), count, replace=False))
    same = [FacePair(matching[i][0], matching[i][1], different=False) for i in chosen.tolist()]
    return PairList((*same, *_different(names, count, total, generator)), f"seed {seed}")


def _different(
    names: Sequence[tuple[str, str]], count: int, total: int, generator: np.random.Generator
) -> list[FacePair]:
    if total <= _MOST_LISTED:
        every = [(a, b) for a, b in combinations(names, 2) if a[1] != b[1]]
        chosen = np.sort(generator.choice(len(every), count, replace=False))
        return [FacePair(every[i][0][0], every[i][1][0], different=True) for i in chosen.tolist()]
    drawn: dict[tuple[int, int], None] = {}
    while len(drawn) < count:
        a, b = sorted(generator.integers(len(names), size=2).tolist())
        if names[a][1] != names[b][1]:
            drawn[(a, b)] = None
    return [FacePair(names[a][0], names[b][0], different=True) for a, b in sorted(drawn)]


def save_pairs(listed: PairList, folder: Location) -> PairFile:
    """Write the list into a data set's folder; returns its record for the manifest."""
    rows = [[pair.first, pair.second, int(pair.different), pair.fold] for pair in listed.pairs]
    content = (json.dumps({"origin": listed.origin, "pairs": rows}, ensure_ascii=False) + "\n").encode()
    storage.write_bytes(folder / FILE, content)
    different = sum(pair.different for pair in listed.pairs)
    digest = hashlib.sha256(content).hexdigest()
    return PairFile(FILE, digest, len(rows) - different, different, listed.origin)


def load_pairs(source: Mapping[str, Any], folder: Location) -> PairList:
    """The list of the data set in `folder`, whose manifest has `source`; DatasetError where it is missing or changed,
    since results on a changed list are not comparable.
    """
    record = source.get("pairs")
    if not isinstance(record, dict):
        raise DatasetError(f"{folder} has no list of pairs; rebuild it with vtr ingest faces or lfw")
    content = storage.read_verified(folder / FILE, str(record.get("sha256")), "restore or rebuild the data set")
    value = json.loads(content)
    pairs = tuple(FacePair(first, second, bool(different), fold) for first, second, different, fold in value["pairs"])
    return PairList(pairs, value["origin"])


@dataclass(frozen=True)
class TimedLabel:
    """A segment from `start` to `end`, in seconds, with its label."""

    start: float
    end: float
    label: str


def pooled(shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
    """An uninitialised array of this shape, like `numpy.empty`."""
    if dtype.hasobject:
        return np.empty(shape, dtype)
    count = math.prod(shape)
    return np.frombuffer(pa.allocate_buffer(count * dtype.itemsize), dtype, count).reshape(shape)


MAX_CELL_BYTES = 2**30
"""Maximum size of a variable-length cell, for Arrow's 32-bit offsets within a row group's column."""


def fixed_size_binary(rows: Shaped[np.ndarray, "rows dim"]) -> pa.FixedSizeBinaryArray:
    """A 2-D array as a fixed-size binary column: row i is the bytes of `rows[i]`, without copying."""
    rows = np.ascontiguousarray(rows)
    width = rows.shape[1] * rows.itemsize
    return pa.FixedSizeBinaryArray.from_buffers(pa.binary(width), len(rows), [None, pa.py_buffer(rows)])


def as_rows(column: pa.FixedSizeBinaryArray, dtype: np.dtype) -> Shaped[np.ndarray, "rows dim"]:
    """The inverse of `fixed_size_binary`: a (rows, dim) view of the column's buffer, without copying."""
    width = column.type.byte_width
    start = column.offset * width
    buffer = column.buffers()[1]
    flat = np.frombuffer(buffer, dtype, len(column) * width // dtype.itemsize, start)
    return flat.reshape(len(column), width // dtype.itemsize)


def sequence_binary(cells: Sequence[Shaped[np.ndarray, "_ dim"] | None]) -> pa.BinaryArray:
    """Sequences of vectors as a binary column: row i is the bytes of `cells[i]`, empty for None."""
    return pa.array([b"" if cell is None else cell.tobytes() for cell in cells], pa.binary())


@dataclass(frozen=True)
class Sequences:
    """The concatenated vectors of all rows of a column, and their number in each row."""

    vectors: Shaped[np.ndarray, "total dim"]
    counts: Int64[np.ndarray, " rows"]


def as_sequences(column: pa.BinaryArray, dim: int, dtype: np.dtype) -> Sequences:
    """The inverse of `sequence_binary` for vectors of `dim` values: views of the column's buffer, without copying.

    DatasetError for cells that are no multiple of this size, for instance after a manual change of the manifest.
    """
    if len(column) == 0:
        return Sequences(np.zeros((0, dim), dtype), np.zeros(0, np.int64))
    _, offsets, data = column.buffers()
    bounds = np.frombuffer(offsets, np.int32, len(column) + 1, column.offset * 4).astype(np.int64)
    width = dim * dtype.itemsize
    lengths = np.diff(bounds)
    if (lengths % width).any():
        raise DatasetError(f"cells do not hold whole vectors of {dim} {dtype}; rebuild the data set with vtr ingest")
    if bounds[-1] == bounds[0]:
        return Sequences(np.zeros((0, dim), dtype), lengths)
    flat = np.frombuffer(data, dtype, int(bounds[-1] - bounds[0]) // dtype.itemsize, int(bounds[0]))
    return Sequences(flat.reshape(-1, dim), lengths // width)


MAX_FRAMES = 64
"""Default of the maximum number of frames of a video."""

KEPT, MEAN = ".kept", ".mean"
"""Suffixes of batch columns; feature names contain no dot."""


def kept_column(feature: str) -> str:
    """The batch column with the number of frames of `feature` in each row, after which padding begins."""
    return feature + KEPT


def mean_column(feature: str) -> str:
    """The batch column with the mean of all frames of `feature`, also of those that the batch leaves out."""
    return feature + MEAN


@dataclass(frozen=True)
class PaddedFrames:
    """Frames of each row, padded with zeros; row i has `lengths[i]` frames."""

    values: Float16[np.ndarray, "rows frames dim"]
    lengths: Int64[np.ndarray, " rows"]

    @property
    def mask(self) -> Bool[np.ndarray, "rows frames"]:
        """True at the positions of frames."""
        return np.arange(self.values.shape[1]) < self.lengths[:, None]


def pad(frames: Sequences, rows: Int64[np.ndarray, " rows"] | slice, max_frames: int) -> PaddedFrames:
    """The frames of the given rows, in their order, padded with zeros.

    Longer rows are cut to their *first* `max_frames` frames. The array is as long as its longest row and at least one
    frame, so that models accept rows without frames (mask all false).
    """
    assert max_frames > 0, "max_frames must be positive"
    lengths = np.minimum(frames.counts[rows], max_frames)
    first = (np.cumsum(frames.counts) - frames.counts)[rows]
    length, dim = max(1, int(lengths.max(initial=0))), frames.vectors.shape[1]
    values = pooled((len(lengths), length, dim), FEATURE_DTYPE)
    for target, begin, count in zip(values, first.tolist(), lengths.tolist(), strict=True):
        target[:count] = frames.vectors[begin : begin + count]
        target[count:] = 0
    return PaddedFrames(values, lengths)


def means(frames: Sequences, rows: Int64[np.ndarray, " rows"]) -> Float32[np.ndarray, "rows dim"]:
    """The mean of all frames of the given rows, summed in float32; zeros for a row without frames."""
    first = np.cumsum(frames.counts) - frames.counts
    averages = np.zeros((len(rows), frames.vectors.shape[1]), np.float32)
    for target, begin, count in zip(averages, first[rows].tolist(), frames.counts[rows].tolist(), strict=True):
        if count:
            frames.vectors[begin : begin + count].mean(axis=0, dtype=np.float32, out=target)
    return averages


@dataclass(frozen=True)
class StoredVideos:
    """Frames and captions of a row group, as views of the columns' buffers."""

    frames: dict[str, Sequences]
    caption_vectors: Sequences | None
    """Vectors of all captions, in the order of `tokens`; None if not read."""
    tokens: Sequences
    """(captions, max_words) of all videos, and the number of captions of each."""
    first_caption: Int64[np.ndarray, " rows"]
    """The position of each video's first caption."""
    caption_key: Int64[np.ndarray, " captions"]
    video_key: Int64[np.ndarray, " rows"]


def stored_videos(columns: Mapping[str, pa.Array], schema: VideoSchema) -> StoredVideos:
    """The row group from its columns: `tokens`, keys, and some of the schema's features.

    Raises DatasetError where cells do not conform to the schema.
    """
    tokens = as_sequences(columns["tokens"], schema.max_words, TOKEN_DTYPE)
    keys = columns["caption_keys"]
    if not np.array_equal(tokens.counts, keys.value_lengths().to_numpy()):
        raise DatasetError(
            f"videos have another number of keys than captions of {schema.max_words} words; rebuild the data set"
        )
    frames = {f.name: as_sequences(columns[f.name], f.dim, FEATURE_DTYPE) for f in schema.features if f.name in columns}
    vectors = frames.pop(CAPTION_VECTORS, None)
    if vectors is not None and not np.array_equal(vectors.counts, tokens.counts):
        raise DatasetError(
            f"videos have another number of vectors of {CAPTION_VECTORS} than captions; rebuild the data set"
        )
    return StoredVideos(
        frames=frames,
        caption_vectors=vectors,
        tokens=tokens,
        first_caption=np.cumsum(tokens.counts) - tokens.counts,
        caption_key=keys.flatten().to_numpy(),
        video_key=columns["video_key"].to_numpy(),
    )
