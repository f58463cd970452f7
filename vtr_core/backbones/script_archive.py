"""The tensors of a TorchScript archive, such as OpenAI's files of CLIP, without running anything that is in it.

torch.load(weights_only=True) refuses such archives, and torch.jit.load compiles their code. Here the pickle of the
module tree is read by an unpickler that can make tensors and attributes by name and nothing else; code is not opened.
"""

import pickle
import sys
import zipfile
from collections import OrderedDict
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

_DTYPES = {
    "DoubleStorage": torch.float64,
    "FloatStorage": torch.float32,
    "HalfStorage": torch.float16,
    "BFloat16Storage": torch.bfloat16,
    "LongStorage": torch.int64,
    "IntStorage": torch.int32,
    "ShortStorage": torch.int16,
    "CharStorage": torch.int8,
    "ByteStorage": torch.uint8,
    "BoolStorage": torch.bool,
}
_LISTS = ("build_intlist", "build_doublelist", "build_boollist", "build_tensorlist", "restore_type_tag")
ARCHIVE_FAULTS = (zipfile.BadZipFile, TypeError, AttributeError, IndexError, OverflowError, RecursionError)
"""What reading a damaged or malicious archive raises, beside pickle.UnpicklingError, ValueError, KeyError and
RuntimeError."""


def is_script_archive(file: str | Path) -> bool:
    """Whether the file is a zip archive with the constants of a TorchScript module."""
    if not zipfile.is_zipfile(file):
        return False
    with zipfile.ZipFile(file) as archive:
        return any(name.endswith("/constants.pkl") for name in archive.namelist())


def script_tensors(file: str | Path) -> dict[str, Tensor]:
    """All tensors of the archive's modules by dotted name: parameters, buffers and constant tensors, on the CPU.

    Raises pickle.UnpicklingError where the module tree asks for anything that is no tensor, list or module.
    """
    with zipfile.ZipFile(file) as archive:
        trees = [name for name in archive.namelist() if name.count("/") == 1 and name.endswith("/data.pkl")]
        if len(trees) != 1:
            raise pickle.UnpicklingError(f"it has {len(trees)} module trees")
        with archive.open(_stored(archive, trees[0])) as tree:
            module = _Unpickler(tree, archive, trees[0].removesuffix("data.pkl")).load()
    return dict(_named(module, ""))


class _Module:
    """A module of the archive, of whatever class: its attributes by name."""

    attributes: Mapping[str, Any]

    def __setstate__(self, state: object) -> None:
        if not isinstance(state, dict):
            raise pickle.UnpicklingError("a module's state is no dictionary")
        self.attributes = state


class _Callable:
    """What a pickle may call. It has no attributes that a pickle could set."""

    __slots__ = ()


class _Rebuild(_Callable):
    """A tensor as a view of its storage; torch raises RuntimeError where it would lie outside."""

    def __call__(self, storage: Tensor, offset: int, size: tuple[int, ...], stride: tuple[int, ...], *_: Any) -> Tensor:
        return storage.as_strided(size, stride, offset)


class _First(_Callable):
    """A typed list without its type."""

    def __call__(self, value: Any, *_: Any) -> Any:
        return value


class _Unpickler(pickle.Unpickler):
    """Reads module trees; every other class or function is refused before it is imported."""

    def __init__(self, tree: Any, archive: zipfile.ZipFile, root: str) -> None:
        super().__init__(tree)
        self._archive, self._root = archive, root
        self._storages: dict[str, Tensor] = {}

    def find_class(self, module: str, name: str) -> Any:
        if module == "__torch__" or module.startswith("__torch__."):
            return _Module
        match module, name:
            case ("collections", "OrderedDict"):
                return OrderedDict
            case ("torch._utils", "_rebuild_tensor_v2"):
                return _Rebuild()
            case ("torch.jit._pickle", _) if name in _LISTS:
                return _First()
            case ("torch", _) if name in _DTYPES:
                return _DTYPES[name]
        raise pickle.UnpicklingError(f"it asks for {module}.{name}, which is no tensor")

    def persistent_load(self, pid: Any) -> Tensor:
        """The storage (kind, dtype, key, device, count) as a vector; one with the same key is the same."""
        _, dtype, key, _, count = pid
        if key not in self._storages:
            self._storages[key] = self._storage(dtype, f"{self._root}data/{key}", count)
        return self._storages[key]

    def _storage(self, dtype: torch.dtype, name: str, count: int) -> Tensor:
        content = bytearray(self._archive.read(_stored(self._archive, name)))
        if len(content) != count * dtype.itemsize:
            raise pickle.UnpicklingError(f"{name} has {len(content)} bytes, not {count} values of {dtype}")
        order = f"{self._root}byteorder"
        if order in self._archive.namelist() and self._archive.read(order) != sys.byteorder.encode():
            raise pickle.UnpicklingError("its values have the byte order of another kind of machine")
        return torch.frombuffer(content, dtype=dtype) if content else torch.empty(0, dtype=dtype)


def _stored(archive: zipfile.ZipFile, name: str) -> zipfile.ZipInfo:
    """An entry that lies in the archive as it is: a compressed one could be larger than memory."""
    info = archive.getinfo(name)
    if info.compress_type != zipfile.ZIP_STORED:
        raise pickle.UnpicklingError(f"{name} is compressed, which torch never does")
    return info


def _named(module: object, prefix: str) -> Iterator[tuple[str, Tensor]]:
    if not isinstance(module, _Module):
        raise pickle.UnpicklingError("it holds no module")
    for name, value in module.attributes.items():
        match value:
            case Tensor():
                yield f"{prefix}{name}", value
            case _Module():
                yield from _named(value, f"{prefix}{name}.")
