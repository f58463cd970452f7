"""Clip vectors from frame features: the rows of a time span, pooled over time and normalised."""

from typing import Literal, assert_never

import numpy as np
from jaxtyping import Float, Float16, Num

from vtr_core.data.sources.features.npy import FeatureArray
from vtr_core.data.sources.reasons import Reason, UnusableError

Pool = Literal["max", "mean", "mean_std"]


def window(
    rows: Num[np.ndarray, "time dim"], start: float, end: float, fps: float, where: str = "the features"
) -> Num[np.ndarray, "part dim"]:
    """The rows [int(start·fps) : int(end·fps) + 1], as far as there are any; times in seconds, `fps` rows a second.

    Raises UnusableError (outside_features), naming `where` they are from, where none is left.
    """
    first = int(min(start * fps, len(rows)))
    part = rows[first : int(min(end, len(rows) / fps) * fps) + 1]
    if len(part) == 0:
        what = f"{where}: the span {start:g} to {end:g} s begins after the last of {len(rows)} rows at {fps:g} a second"
        raise UnusableError(Reason.OUTSIDE_FEATURES, what)
    return part


def pool(array: FeatureArray, how: Pool) -> Float[np.ndarray, " pooled"]:
    """(time, dim) pooled over time in float64: its maximum, mean, or mean ⊕ standard deviation (of the population).

    A 1-D array stands for the whole video already and is returned as it is, whatever `how`.
    """
    values = array.astype(np.float64)
    if values.ndim == 1:
        return values
    match how:
        case "max":
            return values.max(axis=0)
        case "mean":
            return values.mean(axis=0)
        case "mean_std":
            return np.concatenate([values.mean(axis=0), values.std(axis=0)])
        case _:
            assert_never(how)


def pooled_dim(array: FeatureArray, how: Pool) -> int:
    """The length of `pool(array, how)`."""
    doubled = array.ndim > 1 and how == "mean_std"
    return array.shape[-1] * (2 if doubled else 1)


def l2(vector: Float[np.ndarray, " dim"]) -> Float[np.ndarray, " dim"]:
    """`vector` normalised to length 1; the zero vector stays zero."""
    norm = np.linalg.norm(vector)
    return vector / norm if norm > 0 else vector


def to_float16(values: Num[np.ndarray, "*shape"], what: str) -> Float16[np.ndarray, "*shape"]:
    """`values` in float16, the storage format; UnusableError (not_finite), naming `what`, for values out of range."""
    with np.errstate(over="ignore", invalid="ignore"):
        stored = values.astype(np.float16)
    if not np.isfinite(stored).all():
        limit = f"{np.finfo(np.float16).max:.0f}"
        raise UnusableError(Reason.NOT_FINITE, f"{what}: values exceed the range of float16 (at most {limit})")
    return stored
