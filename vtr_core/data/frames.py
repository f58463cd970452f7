"""Frame features of several videos as one padded array and a mask."""

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from jaxtyping import Bool, Float16

from vtr_core.data.binary_columns import as_sequences
from vtr_core.data.schema import FEATURE_DTYPE


@dataclass(frozen=True)
class PaddedFrames:
    """Frames of each row from position 0 on, zeros after them; `mask` is true where there is a frame."""

    values: Float16[np.ndarray, "rows frames dim"]
    mask: Bool[np.ndarray, "rows frames"]


def padded(column: pa.BinaryArray, dim: int, max_frames: int) -> PaddedFrames:
    """The frames of a `videos` feature column of dimension `dim`, as stored.

    Of a longer row the *first* `max_frames` are kept. The array is as long as its longest row and at least one frame,
    so that rows without any (mask all false) still have a shape that models take.
    """
    assert max_frames > 0, "max_frames must be positive"
    frames = as_sequences(column, dim, FEATURE_DTYPE)
    kept = np.minimum(frames.counts, max_frames)
    length = max(1, int(kept.max(initial=0)))
    mask = np.arange(length) < kept[:, None]
    values = np.zeros((len(kept), length, dim), FEATURE_DTYPE)
    if (kept == frames.counts).all():
        values[mask] = frames.vectors
        return PaddedFrames(values, mask)
    first = np.cumsum(frames.counts) - frames.counts
    values[mask] = frames.vectors[(first[:, None] + np.arange(length))[mask]]
    return PaddedFrames(values, mask)
