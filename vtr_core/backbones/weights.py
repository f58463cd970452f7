"""Weights of other projects' networks, read without unpickling objects; TorchScript archives, too."""

import pickle
import sys
import zipfile
from collections import OrderedDict
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

from vtr_core.errors import CheckpointError, ConfigError

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


READ_FAULTS = (pickle.UnpicklingError, RuntimeError, EOFError, ValueError, KeyError, OSError, SafetensorError)
_SHOWN = 3


def read_state(file: str | Path) -> dict[str, Tensor]:
    """The tensors of a .safetensors file, a file by torch.save or a TorchScript archive, by name.

    Only tensors are unpickled, and an archive's code is not run. Takes the entry `state_dict` or `model` where the
    checkpoint has one, and removes the prefix `module.` of data parallel training. Raises CheckpointError for other
    files.
    """
    try:
        if Path(file).suffix == ".safetensors":
            return dict(load_file(file))
        content = _content(file)
    except (*READ_FAULTS, *ARCHIVE_FAULTS) as error:
        why = str(error) or "it is empty, or cut off"
        raise CheckpointError(f"{file} is not a file of weights ({why}); give .safetensors or torch's") from error
    for inner in ("state_dict", "model"):
        if isinstance(content, Mapping) and isinstance(content.get(inner), Mapping):
            content = content[inner]
    if not isinstance(content, Mapping) or not all(isinstance(value, Tensor) for value in content.values()):
        raise CheckpointError(f"{file} holds no tensors by name; give the published file of weights")
    return {str(name).removeprefix("module."): value for name, value in content.items()}


def convert(file: str | Path, out: Path) -> Mapping[str, Tensor]:
    """Write the tensors of a file of weights as safetensors; returns them.

    CheckpointError for another file, ConfigError where `out` exists, is no .safetensors file, or cannot be written.
    """
    if out.suffix != ".safetensors" or out.exists():
        fault = "exists" if out.exists() else "does not end in .safetensors"
        raise ConfigError(f"{out} {fault}; give the name of a new file that ends in .safetensors")
    # Two names of one storage are two tensors in safetensors.
    state = {name: value.clone(memory_format=torch.contiguous_format) for name, value in read_state(file).items()}
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        save_file(state, out)
    except (OSError, SafetensorError) as error:
        raise ConfigError(f"{out} cannot be written ({error}); give a file in a folder that can be") from error
    return state


def _content(file: str | Path) -> object:
    if is_script_archive(file):
        return script_tensors(file)
    try:
        return torch.load(file, map_location="cpu", weights_only=True)
    except pickle.UnpicklingError as error:  # torch's own words advise to run the pickle's code
        raise pickle.UnpicklingError("no pickle of tensors alone") from error


def load_state(module: nn.Module, state: Mapping[str, Tensor], where: str) -> None:
    """Load all parameters of `module` from `state`; CheckpointError names missing, superfluous and misshapen ones.

    A classifier's parameters (`fc.`) are ignored, as features do not need them.
    """
    expected = module.state_dict()
    missing = [name for name in expected if name not in state and not name.endswith("num_batches_tracked")]
    surplus = [name for name in state if name not in expected and not name.startswith("fc.")]
    wrong = [name for name in expected if name in state and state[name].shape != expected[name].shape]
    for fault, names in (("lacks", missing), ("has unknown", surplus), ("has other shapes of", wrong)):
        if names:
            shown = ", ".join(names[:_SHOWN]) + (" …" if len(names) > _SHOWN else "")
            raise CheckpointError(f"{where} is of another network: it {fault} {shown}; give the published weights")
    module.load_state_dict({name: state[name] for name in expected if name in state}, strict=False)
