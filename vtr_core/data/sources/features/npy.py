"""Reading of untrusted `.npy` feature files: (time, dim) frame features or one (dim,) vector."""

import io
import math
import tokenize

import numpy as np
from jaxtyping import Num

from vtr_core.data.sources.files.files import read_file
from vtr_core.data.sources.reasons import Reason, UnusableError
from vtr_core.storage import Location

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
    Raises UnusableError with the reason. Other faults of the storage (a network that is down) are a StorageError, since
    they are no fault of the file.
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
        what = "holds NaN or infinite values, or some beyond float32; only finite ones are allowed"
        raise UnusableError(Reason.NOT_FINITE, f"{where} {what}")


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
    expected, found = math.prod(shape) * dtype.itemsize, len(content) - stream.tell()
    if found < expected:
        what = f"{where} is truncated: {found} bytes of values where shape {shape} {dtype} needs {expected}"
        raise UnusableError(Reason.UNREADABLE_FILE, what)
    values = np.frombuffer(content, dtype, math.prod(shape), stream.tell())
    return values.reshape(shape, order="F" if fortran else "C")
