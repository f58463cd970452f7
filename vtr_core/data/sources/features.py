"""One `.npy` feature file, read without trust: (time, dim) frame features or one (dim,) vector."""

import io
import math
import tokenize

import numpy as np
import pyarrow.fs as pafs
from jaxtyping import Num

from vtr_core import storage
from vtr_core.data.sources.reasons import Reason, UnusableError
from vtr_core.storage import Location

_MAX_NAME_BYTES = 240
_HEADERS = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}
_HEADER_FAULTS = (ValueError, TypeError, SyntaxError, RecursionError, MemoryError, KeyError, tokenize.TokenError)

FeatureArray = Num[np.ndarray, "..."]
"""(time, dim) frame features, or (dim,) for one vector without time."""


def read_feature(location: Location, flatten: bool = False) -> FeatureArray:
    """The finite numbers of a `.npy` file: 2-D (time, dim), or 1-D (dim,) for one vector without time.

    With `flatten`, an array of more axes is read as (time, product of the others); without, it has the wrong rank.
    Raises UnusableError with the reason. Other faults of the storage (a network that is down) are raised as they are:
    they say nothing of the file.
    """
    array = _parse(_read(location), location)
    if flatten and array.ndim > 2:
        array = array.reshape(len(array), -1)
    if array.ndim not in (1, 2):
        raise UnusableError(Reason.WRONG_RANK, f"{location} has shape {array.shape}, not (time, dim) or (dim,)")
    if array.size == 0:
        raise UnusableError(Reason.WRONG_DIMENSION, f"{location} has shape {array.shape}, which holds nothing")
    if not np.isfinite(array).all():
        raise UnusableError(Reason.NOT_FINITE, f"{location} holds NaN or infinite values; only finite ones are allowed")
    return array


def check_id(name: str) -> None:
    """Raise UnusableError unless `name` can be a file name: no separators, no `..`, printable, not too long."""
    faults = "/" in name or "\\" in name or ".." in name or not name.isprintable() or name in ("", ".")
    if faults or len(name.encode(errors="replace")) > _MAX_NAME_BYTES:
        raise UnusableError(Reason.UNSAFE_ID, f"the id {name[:80]!r} cannot be a file name; use letters and digits")


def check_path(path: str) -> None:
    """Raise UnusableError unless `path` stays below the folder that it is relative to."""
    parts = path.split("/")
    if "\\" in path or ".." in parts or path.startswith("/") or "://" in path or not path.isprintable():
        raise UnusableError(
            Reason.UNSAFE_ID, f"the path {path[:80]!r} leads out of its folder; give one below it, without .."
        )


def _read(location: Location) -> bytes:
    try:
        return storage.read_bytes(location)
    except (FileNotFoundError, NotADirectoryError) as error:
        raise UnusableError(Reason.MISSING_FILE, f"there is no file {location}") from error
    except OSError as error:
        if (
            isinstance(error, PermissionError)
            or location.filesystem.get_file_info(location.path).type == pafs.FileType.Directory
        ):
            raise UnusableError(Reason.UNREADABLE_FILE, f"{location} cannot be read ({error})") from error
        raise


def _parse(content: bytes, location: Location) -> np.ndarray:
    """The array, after its header was checked against the length of the file and against dtypes that need pickle."""
    stream = io.BytesIO(content)
    try:
        shape, fortran, dtype = _HEADERS[np.lib.format.read_magic(stream)](stream)
    except _HEADER_FAULTS as error:
        raise UnusableError(Reason.UNREADABLE_FILE, f"{location} is not a .npy file ({len(content)} bytes)") from error
    if dtype.kind not in "fiu":
        raise UnusableError(Reason.NOT_NUMERIC, f"{location} holds {dtype}; allowed are floats and integers")
    if any(length < 0 for length in shape):
        raise UnusableError(Reason.UNREADABLE_FILE, f"{location} is damaged: its header gives the shape {shape}")
    expected, found = math.prod(shape) * dtype.itemsize, len(content) - stream.tell()
    if found < expected:
        what = f"{location} is truncated: {found} bytes of values where shape {shape} {dtype} needs {expected}"
        raise UnusableError(Reason.UNREADABLE_FILE, what)
    values = np.frombuffer(content, dtype, math.prod(shape), stream.tell())
    return values.reshape(shape, order="F" if fortran else "C")
