"""Arrays of features by name, and their rows a second: as given, as `vtr extract` recorded, or as published.

A wrong rate is silent: at 1 row a second in place of 1.5, the clip from second 60 gets the rows of second 90. So a rate
is read where it is recorded, and streams of one video have to last equally long.
"""

import io
import math
import tokenize
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import islice
from typing import Any, Literal, TypeAlias, assert_never

import numpy as np
from jaxtyping import Float, Float16, Num

from vtr_core import storage
from vtr_core.data.records.arrays import MAX_CELL_BYTES
from vtr_core.data.records.schema import FEATURE_DTYPE
from vtr_core.data.sources.files import read_file
from vtr_core.errors import InputError
from vtr_core.storage import Location, locate
from vtr_core.unusable import Reason, UnusableError

RECORD = "extraction.json"
"""The record of `vtr extract --features-only`, above the folders of its recipes."""
RATES = "rows_per_second"
"""By folder, in that record."""

Kind = Literal["2d", "3d", "audio"]
PUBLISHED: Mapping[Kind, float] = {"2d": 1.0, "3d": 1.5, "audio": 1.0}
"""HowTo100M's features (Miech et al. 2019): a frame a second, and 24 frames a second in windows of 16."""
TOLERANCE_S = 1.0
"""Seconds that the streams of a video may differ by: the rows of a second more or less."""
PROBES, PROBED_NAMES = 5, 100
"""Videos with all streams that are looked at before an ingest, among the first names; where all of them contradict the
rates, none is right. A list of a million videos may have few files, and each name is a request on object stores."""


def rows_per_second(uri: str, given: float | None, kind: Kind, flag: str) -> float:
    """Rows a second of a folder: the record's, `given` where there is none, else the published rate of its kind.

    InputError where `given`, the value of `flag`, is not the record's.
    """
    recorded = _recorded(locate(uri))
    if recorded is None:
        return PUBLISHED[kind] if given is None else given
    if given is not None and given != recorded:
        raise InputError(f"{flag} {given:g}: {RECORD} beside {uri} says {recorded:g} rows a second; leave the flag out")
    return recorded


def _recorded(folder: Location) -> float | None:
    record = folder.parent / RECORD
    content: Any = storage.read_json(record) if storage.exists(record) else None
    rates = content.get(RATES) if isinstance(content, dict) else None
    rate = rates.get(folder.name) if isinstance(rates, dict) else None
    return float(rate) if isinstance(rate, (int, float)) and rate > 0 else None


Lasting: TypeAlias = tuple[str, int, float]
"""Of a stream of a video: the flag of its rate, its rows, and rows a second."""


def check_durations(video: str, streams: Sequence[Lasting]) -> None:
    """UnusableError (streams_disagree) for a video whose streams last unequally long, by more than TOLERANCE_S.

    video: its id, or the file of its first stream.
    """
    seconds = [rows / rate for _, rows, rate in streams]
    if not seconds or max(seconds) - min(seconds) <= TOLERANCE_S:
        return
    lasting = "; ".join(
        f"{rows} rows at {rate:g} a second ({flag}) last {rows / rate:.1f} s" for flag, rows, rate in streams
    )
    message = f"the streams of {video} differ by {max(seconds) - min(seconds):.1f} s: {lasting}"
    raise UnusableError(Reason.STREAMS_DISAGREE, f"{message}; give their rates by these flags, or extract them again")


def check_rates(names: Iterable[str], check: Callable[[str], object]) -> None:
    """InputError where the first PROBES videos that have all streams contradict their rates; one that agrees ends it.

    check: reads all streams of a video, and raises as `check_durations`, or otherwise where one cannot be read.
    """
    faults: list[UnusableError] = []
    for name in islice(names, PROBED_NAMES):
        try:
            check(name)
            return
        except UnusableError as fault:
            if fault.reason is Reason.STREAMS_DISAGREE:
                faults.append(fault)
        if len(faults) == PROBES:
            break
    if faults:
        raise InputError(f"the first {len(faults)} videos all contradict the rates of their features: {faults[0]}")


_LARGEST = float(np.finfo(np.float32).max)
_WIDEST_ITEM = 8
"""Maximum bytes per value; wider floats depend on the machine."""
_HEADERS = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}
_HEADER_FAULTS = (ValueError, TypeError, SyntaxError, RecursionError, MemoryError, KeyError, tokenize.TokenError)

FeatureArray = Num[np.ndarray, "..."]
"""(time, dim) frame features, or (dim,) for one vector without time."""


def read_feature(location: Location, flatten: bool = False) -> FeatureArray:
    """The numbers of a `.npy` file, finite and within float32: 2-D (time, dim), or 1-D (dim,), one vector without time.

    With `flatten`, an array of more axes is read as (time, product of the others); without, it has the wrong rank.
    Faults are those of `read_file`, and UnusableError for the content.
    """
    array = parse_npy(read_file(location), str(location))
    if flatten and array.ndim > 2:
        array = array.reshape(len(array), math.prod(array.shape[1:]))
    if array.ndim not in (1, 2):
        raise UnusableError(Reason.WRONG_RANK, f"{location} has shape {array.shape}, not (time, dim) or (dim,)")
    check_values(array, str(location))
    return array


def check_values(array: Num[np.ndarray, "..."], where: str) -> None:
    """UnusableError, naming `where` the array is from, unless it holds values, all finite and within float32."""
    if array.size == 0:
        raise UnusableError(Reason.WRONG_DIMENSION, f"{where} has shape {array.shape}, which holds nothing")
    if not (float(array.min()) >= -_LARGEST and float(array.max()) <= _LARGEST):
        message = "holds NaN or infinite values, or some beyond float32; only finite ones are allowed"
        raise UnusableError(Reason.NOT_FINITE, f"{where} {message}")


def parse_npy(content: bytes, where: str) -> Num[np.ndarray, "..."]:
    """The array of a `.npy` file's `content`, never a pickle; UnusableError, naming `where` it is from.

    Its header is checked against the length of the content and against dtypes that need pickle.
    """
    stream = io.BytesIO(content)
    try:
        shape, fortran, dtype = _HEADERS[np.lib.format.read_magic(stream)](stream)
    except _HEADER_FAULTS as error:
        raise UnusableError(Reason.UNREADABLE_FILE, f"{where} is not a .npy file ({len(content)} bytes)") from error
    if dtype.kind not in "fiu" or dtype.itemsize > _WIDEST_ITEM:
        raise UnusableError(Reason.NOT_NUMERIC, f"{where} holds {dtype}; allowed are floats and integers")
    if any(type(length) is not int or length < 0 for length in shape):
        raise UnusableError(Reason.UNREADABLE_FILE, f"{where} is damaged: its header gives the shape {shape}")
    expected, available = math.prod(shape) * dtype.itemsize, len(content) - stream.tell()
    if available < expected:
        message = f"{where} is truncated: {available} bytes of values where shape {shape} {dtype} needs {expected}"
        raise UnusableError(Reason.UNREADABLE_FILE, message)
    values = np.frombuffer(content, dtype, math.prod(shape), stream.tell())
    return values.reshape(shape, order="F" if fortran else "C")


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
        message = (
            f"{where}: the span {start:g} to {end:g} s begins after the last of {len(rows)} rows at {fps:g} a second"
        )
        raise UnusableError(Reason.OUTSIDE_FEATURES, message)
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


COARSEST = 2.0**-18
"""float16 has steps of 2⁻²⁴ below 6e-5, so that of values all below this it keeps less than two digits, or none."""


def to_float16(values: Num[np.ndarray, "*shape"], where: str) -> Float16[np.ndarray, "*shape"]:
    """`values` in float16, the storage format; UnusableError (not_finite), naming `where`, for values out of range.

    Too small are values that are not all 0 and all nearer to 0 than COARSEST; single ones may become 0.
    """
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        stored = values.astype(np.float16)
    if not np.isfinite(stored).all():
        limit = f"{np.finfo(np.float16).max:.0f}"
        raise UnusableError(
            Reason.NOT_FINITE, f"{where}: values that are not finite or exceed the range of float16 (at most {limit})"
        )
    largest = max(float(values.max(initial=0)), -float(values.min(initial=0)))
    if 0 < largest < COARSEST:
        message = f"the largest value is {largest:.1g}, which float16 rounds to 0 or to a digit"
        raise UnusableError(Reason.NOT_FINITE, f"{where}: {message}; scale the features to values near 1")
    return stored


def to_cell(rows: Num[np.ndarray, "rows dim"], where: str) -> Float16[np.ndarray, "rows dim"]:
    """`rows`, a cell of a row, in float16; UnusableError, naming `what`, for values out of range, and for too many."""
    if rows.size * FEATURE_DTYPE.itemsize > MAX_CELL_BYTES:
        size = f"{where} has {len(rows)} frames of {rows.shape[1]} values; a row holds {MAX_CELL_BYTES >> 20} MiB"
        raise UnusableError(Reason.WRONG_DIMENSION, size)
    return to_float16(rows, where)
