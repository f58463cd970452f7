"""Frame features of several videos as one padded array, a mask, and the mean of all frames."""

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from jaxtyping import Bool, Float16, Float32, Int64

from vtr_core.data.records.binary_columns import Sequences, as_sequences
from vtr_core.data.records.schema import FEATURE_DTYPE

MAX_FRAMES = 64
"""Frames kept of a video where nothing else is said."""

_KEPT, _MEAN = ".kept", ".mean"
"""Suffixes of batch columns; feature names contain no dot."""


def kept_column(feature: str) -> str:
    """The column of a batch that holds how many frames of `feature` each row has there: its padding follows them."""
    return feature + _KEPT


def mean_column(feature: str) -> str:
    """The column of a batch that holds the mean of all frames of `feature`, also of those that it leaves out."""
    return feature + _MEAN


def is_kept_column(name: str) -> bool:
    """Whether it is the `kept_column` of a feature."""
    return name.endswith(_KEPT)


def is_mean_column(name: str) -> bool:
    """Whether it is the `mean_column` of a feature."""
    return name.endswith(_MEAN)


@dataclass(frozen=True)
class PaddedFrames:
    """Frames of each row from position 0 on, zeros after them; row i has `kept[i]` of them."""

    values: Float16[np.ndarray, "rows frames dim"]
    kept: Int64[np.ndarray, " rows"]

    @property
    def mask(self) -> Bool[np.ndarray, "rows frames"]:
        """True where there is a frame."""
        return np.arange(self.values.shape[1]) < self.kept[:, None]


def padded(column: pa.BinaryArray, dim: int, max_frames: int) -> PaddedFrames:
    """The frames of a `videos` feature column of dimension `dim`, as stored: see `pad`."""
    frames = as_sequences(column, dim, FEATURE_DTYPE)
    return pad(frames, np.arange(len(frames.counts)), max_frames)


def pad(frames: Sequences, rows: Int64[np.ndarray, " rows"], max_frames: int) -> PaddedFrames:
    """The frames of the rows named, as stored, in their order.

    Of a longer row the *first* `max_frames` are kept. The array is as long as its longest row and at least one frame,
    so that rows without any (mask all false) still have a shape that models take.
    """
    assert max_frames > 0, "max_frames must be positive"
    kept = np.minimum(frames.counts[rows], max_frames)
    first = (np.cumsum(frames.counts) - frames.counts)[rows]
    length, dim = max(1, int(kept.max(initial=0))), frames.vectors.shape[1]
    values = np.empty((len(rows), length, dim), FEATURE_DTYPE)
    for target, begin, count in zip(values, first.tolist(), kept.tolist(), strict=True):
        target[:count] = frames.vectors[begin : begin + count]
        target[count:] = 0
    return PaddedFrames(values, kept)


def means(frames: Sequences, rows: Int64[np.ndarray, " rows"]) -> Float32[np.ndarray, "rows dim"]:
    """The mean of all frames of the rows named, summed in float32; zeros for a row without frames."""
    first = np.cumsum(frames.counts) - frames.counts
    found = np.zeros((len(rows), frames.vectors.shape[1]), np.float32)
    for target, begin, count in zip(found, first[rows].tolist(), frames.counts[rows].tolist(), strict=True):
        if count:
            frames.vectors[begin : begin + count].mean(axis=0, dtype=np.float32, out=target)
    return found
