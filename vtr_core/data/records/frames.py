"""Frame features of several videos as one padded array, a mask, and the mean of all frames."""

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from jaxtyping import Bool, Float16, Float32, Int64

from vtr_core.data.records.binary_columns import Sequences, as_sequences
from vtr_core.data.records.pooled import pooled
from vtr_core.data.records.schema import FEATURE_DTYPE

MAX_FRAMES = 64
"""Default of the maximum number of frames of a video."""

_KEPT, _MEAN = ".kept", ".mean"
"""Suffixes of batch columns; feature names contain no dot."""


def kept_column(feature: str) -> str:
    """The batch column with the number of frames of `feature` in each row, after which padding begins."""
    return feature + _KEPT


def mean_column(feature: str) -> str:
    """The batch column with the mean of all frames of `feature`, also of those that the batch leaves out."""
    return feature + _MEAN


def is_kept_column(name: str) -> bool:
    """Whether `name` is the `kept_column` of a feature."""
    return name.endswith(_KEPT)


def is_mean_column(name: str) -> bool:
    """Whether `name` is the `mean_column` of a feature."""
    return name.endswith(_MEAN)


@dataclass(frozen=True)
class PaddedFrames:
    """Frames of each row, padded with zeros; row i has `kept[i]` frames."""

    values: Float16[np.ndarray, "rows frames dim"]
    kept: Int64[np.ndarray, " rows"]

    @property
    def mask(self) -> Bool[np.ndarray, "rows frames"]:
        """True at the positions of frames."""
        return np.arange(self.values.shape[1]) < self.kept[:, None]


def padded(column: pa.BinaryArray, dim: int, max_frames: int) -> PaddedFrames:
    """The frames of a `videos` feature column of dimension `dim`, see `pad`."""
    frames = as_sequences(column, dim, FEATURE_DTYPE)
    return pad(frames, np.arange(len(frames.counts)), max_frames)


def pad(frames: Sequences, rows: Int64[np.ndarray, " rows"], max_frames: int) -> PaddedFrames:
    """The frames of the given rows, in their order, padded with zeros.

    Longer rows are cut to their *first* `max_frames` frames. The array is as long as its longest row and at least one
    frame, so that models accept rows without frames (mask all false).
    """
    assert max_frames > 0, "max_frames must be positive"
    kept = np.minimum(frames.counts[rows], max_frames)
    first = (np.cumsum(frames.counts) - frames.counts)[rows]
    length, dim = max(1, int(kept.max(initial=0))), frames.vectors.shape[1]
    values = pooled((len(rows), length, dim), FEATURE_DTYPE)
    for target, begin, count in zip(values, first.tolist(), kept.tolist(), strict=True):
        target[:count] = frames.vectors[begin : begin + count]
        target[count:] = 0
    return PaddedFrames(values, kept)


def means(frames: Sequences, rows: Int64[np.ndarray, " rows"]) -> Float32[np.ndarray, "rows dim"]:
    """The mean of all frames of the given rows, summed in float32; zeros for a row without frames."""
    first = np.cumsum(frames.counts) - frames.counts
    found = np.zeros((len(rows), frames.vectors.shape[1]), np.float32)
    for target, begin, count in zip(found, first[rows].tolist(), frames.counts[rows].tolist(), strict=True):
        if count:
            frames.vectors[begin : begin + count].mean(axis=0, dtype=np.float32, out=target)
    return found
