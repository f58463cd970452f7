"""Reading of named arrays of untrusted `.npz` files."""

import io
import zipfile
import zlib
from collections.abc import Collection

import numpy as np
from jaxtyping import Num

from vtr_core.data.records.binary_columns import MAX_CELL_BYTES
from vtr_core.data.sources.features.npy import parse_npy
from vtr_core.data.sources.reasons import Reason, UnusableError

_LARGEST = 2 * MAX_CELL_BYTES
"""Maximum bytes of an array, a row's largest cell in float32; compressed data can expand to any size."""
_FAULTS = (zipfile.BadZipFile, zlib.error, OSError, EOFError, NotImplementedError, RuntimeError, ValueError, KeyError)


def read_npz(content: bytes, names: Collection[str], where: str) -> dict[str, Num[np.ndarray, "..."]]:
    """The arrays in `names` that the file holds; other members are not read, and nothing is unpickled.

    Raises UnusableError, naming `where` the content is from, for what is no such file, or too large.
    """
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as packed:
            members = {info.filename.removesuffix(".npy"): info for info in packed.infolist()}
            found = {name: _read(packed, members[name], where) for name in names if name in members}
    except _FAULTS as error:
        raise UnusableError(Reason.UNREADABLE_FILE, f"{where} is not a .npz file, or damaged ({error})") from error
    if not found:
        held = ", ".join(sorted(members)) or "nothing"
        what = f"{where} holds {held[:200]}; arrays called {', '.join(names)} are read"
        raise UnusableError(Reason.NO_FEATURES, what)
    return {name: parse_npy(array, f"{where}, {name}") for name, array in found.items()}


def _read(packed: zipfile.ZipFile, info: zipfile.ZipInfo, where: str) -> bytes:
    with packed.open(info) as stream:
        content = stream.read(_LARGEST + 1)
    if len(content) > _LARGEST:
        what = f"{where}, {info.filename} has more than {_LARGEST >> 20} MiB; a row does not hold so much"
        raise UnusableError(Reason.WRONG_DIMENSION, what)
    return content
