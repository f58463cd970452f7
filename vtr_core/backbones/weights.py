"""Weights of other projects' networks, read without unpickling objects; TorchScript archives, too.

torch.load(weights_only=True) refuses such archives, such as OpenAI's files of CLIP, and torch.jit.load compiles their
code. Here the pickle of the module tree is read by an unpickler that can make tensors and attributes by name and
nothing else; code is not opened.
"""

import os
import pickle
import sys
import zipfile
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from io import BufferedIOBase
from pathlib import Path
from typing import IO, Any, ClassVar, cast

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
_VIEWS = 4
"""Bytes of tensors that a byte of a file may give: tied weights are views of one storage under several names."""
_MOST_NAMES, _LONGEST_NAME = 200_000, 1000
"""Tensors and modules of an archive: a module that is held by two others, and these by two, is named without end."""


def check_proportion(content: object, size: int) -> None:
    """UnpicklingError where the tensors in `content`, nested lists and mappings, need more memory than a file of `size`
    bytes holds: strides of 0 and views make terabytes of a few bytes; sparse tensors and those without values, too.
    """
    left, nested, names = _VIEWS * size, [content], 0
    while nested:
        value = nested.pop()
        names += 1
        if isinstance(value, Tensor):
            if value.layout != torch.strided or value.is_quantized or value.is_meta:
                kind = f"{value.layout} on {value.device}"
                raise pickle.UnpicklingError(f"it holds a tensor of {kind}, where dense ones alone are read")
            left -= value.numel() * value.element_size()
        elif isinstance(value, Mapping):
            nested += value.values()
        elif isinstance(value, (list, tuple)):
            nested += value
        if left < 0 or names > max(_MOST_NAMES, size):
            raise pickle.UnpicklingError(f"its tensors need more memory than {_VIEWS} times its {size} bytes")


def load_tensors(file: str | Path | BufferedIOBase, device: torch.device | str = "cpu") -> Any:
    """What `torch.save` wrote, of which only tensors and plain values are unpickled, in proportion to the file's size.

    Raises `READ_FAULTS`, also for tensors that need more memory than the file holds.
    """
    if isinstance(file, str | Path):
        with open(file, "rb") as opened:
            return load_tensors(opened, device)
    size = file.seek(0, os.SEEK_END)
    try:
        _look_through(file, size)
    except (KeyError, ValueError, *ARCHIVE_FAULTS) as error:  # what is no pickle has operations that are none
        raise pickle.UnpicklingError("no pickle of tensors alone") from error
    file.seek(0)
    try:
        content = torch.load(cast("IO[bytes]", file), map_location=device, weights_only=True)
    except pickle.UnpicklingError as error:  # torch's own words advise to run the pickle's code
        raise pickle.UnpicklingError("no pickle of tensors alone") from error
    check_proportion(content, size)
    return content


def _look_through(file: BufferedIOBase, size: int) -> None:
    """Go through the pickles of a file before torch does; UnpicklingError for what it must not be given."""
    if zipfile.is_zipfile(file):
        with zipfile.ZipFile(file) as archive:
            _check_stored(archive.infolist(), size)
            for name in archive.namelist():
                if name.endswith("/data.pkl"):
                    with archive.open(name) as tree:
                        _Outline(tree).load()
        return
    file.seek(0)
    with suppress(EOFError):
        for _ in range(_PICKLES):
            _Outline(file).load()


def is_script_archive(file: str | Path) -> bool:
    """Whether the file is a zip archive with the constants of a TorchScript module."""
    if not zipfile.is_zipfile(file):
        return False
    with zipfile.ZipFile(file) as archive:
        return any(name.endswith("/constants.pkl") for name in archive.namelist())


def script_tensors(file: str | Path) -> dict[str, Tensor]:
    """All tensors of the archive's modules by dotted name: parameters, buffers and constant tensors, on the CPU.

    Raises pickle.UnpicklingError where the module tree asks for anything that is no tensor, list or module, and where
    its tensors need more memory than the archive holds.
    """
    size = os.stat(file).st_size
    with zipfile.ZipFile(file) as archive:
        _check_stored([info for info in archive.infolist() if "/code/" not in info.filename], size)
        trees = [name for name in archive.namelist() if name.count("/") == 1 and name.endswith("/data.pkl")]
        if len(trees) != 1:
            raise pickle.UnpicklingError(f"it has {len(trees)} module trees")
        with archive.open(trees[0]) as tree:
            module = _Unpickler(tree, archive, trees[0].removesuffix("data.pkl")).load()
    tensors = dict(_named(module))
    check_proportion(tensors, size)
    return tensors


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


class _Empty(_Callable):
    """An empty dictionary: the hooks of a tensor."""

    def __call__(self) -> OrderedDict[str, Any]:
        return OrderedDict()


def _set_items(unpickler: Any, load: Callable[[Any], None]) -> None:
    """SETITEM and SETITEMS for keys that are plain: nested tuples that share their parts are hashed without end."""
    items = unpickler.stack[-2:] if load is _SETITEM else unpickler.stack
    if not all(isinstance(key, str | int | float) for key in items[::2]):
        raise pickle.UnpicklingError("a dictionary has keys that are no names")
    load(unpickler)


def _build(unpickler: Any) -> None:
    """BUILD for modules alone: tensors and dictionaries have no state that could be set."""
    if not isinstance(unpickler.stack[-2], _Module):
        raise pickle.UnpicklingError("a state is set of what is no module")
    _BUILD(unpickler)


_OPCODES: dict[int, Callable[[Any], None]] = pickle._Unpickler.dispatch  # noqa: SLF001  # pickle.Unpickler in Python
_SETITEM, _SETITEMS, _BUILD = (_OPCODES[code[0]] for code in (pickle.SETITEM, pickle.SETITEMS, pickle.BUILD))
_WRITTEN = (
    *(pickle.PROTO, pickle.GLOBAL, pickle.REDUCE, pickle.NEWOBJ, pickle.BINPERSID, pickle.STOP, pickle.MARK),
    *(pickle.BINPUT, pickle.LONG_BINPUT, pickle.BINGET, pickle.LONG_BINGET, pickle.NONE, pickle.NEWTRUE),
    *(pickle.NEWFALSE, pickle.BININT, pickle.BININT1, pickle.BININT2, pickle.LONG1, pickle.BINFLOAT, pickle.BINUNICODE),
    *(pickle.EMPTY_TUPLE, pickle.TUPLE, pickle.TUPLE1, pickle.TUPLE2, pickle.TUPLE3, pickle.EMPTY_LIST, pickle.APPEND),
    *(pickle.APPENDS, pickle.EMPTY_DICT),
)
"""The operations that torch writes. Others, some of which take memory by a length that they state, are refused."""
PLAIN_OPERATIONS: Mapping[int, Callable[[Any], None]] = {
    **{code[0]: _OPCODES[code[0]] for code in _WRITTEN},
    pickle.SETITEM[0]: partial(_set_items, load=_SETITEM),
    pickle.SETITEMS[0]: partial(_set_items, load=_SETITEMS),
}
"""Those of plain values, of dictionaries with plain keys, and calls of what an unpickler finds."""


class _Unpickler(pickle._Unpickler):  # noqa: SLF001
    """Reads module trees; every other class or function is refused before it is imported.

    It is Python's own reader in Python: the one in C takes memory for as many references as a tree states, unchecked.
    """

    dispatch: ClassVar[dict[int, Callable[[Any], None]]] = {
        **PLAIN_OPERATIONS,
        pickle.BUILD[0]: _build,
    }

    def __init__(self, tree: Any, archive: zipfile.ZipFile, root: str) -> None:
        super().__init__(tree)
        self._archive, self._root = archive, root
        self._storages: dict[str, Tensor] = {}
        order = f"{root}byteorder"
        if order in archive.NameToInfo and archive.read(order) != sys.byteorder.encode():
            raise pickle.UnpicklingError("its values have the byte order of another kind of machine")

    def find_class(self, module: str, name: str) -> Any:
        if module == "__torch__" or module.startswith("__torch__."):
            return _Module
        match module, name:
            case ("collections", "OrderedDict"):
                return _Empty()
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
        if not (isinstance(key, str) and isinstance(dtype, torch.dtype) and type(count) is int):
            raise pickle.UnpicklingError("a storage is not named by its type, its key and its size")
        if key not in self._storages:
            self._storages[key] = self._storage(dtype, f"{self._root}data/{key}", count)
        return self._storages[key]

    def _storage(self, dtype: torch.dtype, name: str, count: int) -> Tensor:
        content = bytearray(self._archive.read(name))
        if len(content) != count * dtype.itemsize:
            raise pickle.UnpicklingError(f"{name} has {len(content)} bytes, not {count} values of {dtype}")
        return torch.frombuffer(content, dtype=dtype) if content else torch.empty(0, dtype=dtype)


def _check_stored(entries: Sequence[zipfile.ZipInfo], size: int) -> None:
    """UnpicklingError unless the entries of an archive of `size` bytes lie in it as they are, each in bytes of its own:
    a compressed one could be larger than memory, and so could a thousand names of the same bytes. Code, which torch
    compresses, is not read."""
    for info in entries:
        if info.compress_type != zipfile.ZIP_STORED:
            raise pickle.UnpicklingError(f"{info.filename} is compressed, which torch never does")
    if sum(info.file_size for info in entries) > size:
        raise pickle.UnpicklingError("its entries are larger than the archive")


def _named(module: object) -> Iterator[tuple[str, Tensor]]:
    """The tensors of a module and of those in it; a module in several others has as many names."""
    nested, names = [("", module)], 0
    while nested:
        prefix, module = nested.pop()
        if not isinstance(module, _Module):
            raise pickle.UnpicklingError("it holds no module")
        for name, value in module.attributes.items():
            names += 1
            if names > _MOST_NAMES or len(prefix) > _LONGEST_NAME:
                raise pickle.UnpicklingError("its modules hold each other without end (recursion)")
            match value:
                case Tensor():
                    yield f"{prefix}{name}", value
                case _Module():
                    nested.append((f"{prefix}{name}.", value))


_PICKLES = 5
"""Of a file by torch.save before version 1.6: magic number, version, system, content and names of storages."""
_LARGEST_KEY = 1_000_000
"""Values of a key, or of arguments, with all that they hold."""


class _Opaque:
    """What stands for every class, function and object of a pickle of which nothing is made."""

    def __setitem__(self, key: object, value: object) -> None:
        """An item of an ordered dictionary."""


def _check_key(value: object, sizes: dict[int, int]) -> int:
    """How many values nested tuples hold; UnpicklingError for more than _LARGEST_KEY, which are hashed one by one."""
    if not isinstance(value, tuple | list):
        return 1
    if id(value) not in sizes:
        sizes[id(value)] = 1 + sum(_check_key(inner, sizes) for inner in value)
    if sizes[id(value)] > _LARGEST_KEY:
        raise pickle.UnpicklingError("a key holds others without end")
    return sizes[id(value)]


class _Outline(pickle._Unpickler):  # noqa: SLF001
    """Goes through a pickle before torch does, makes nothing of it, and refuses keys that are hashed without end."""

    stack: list[Any]

    def find_class(self, module: str, name: str) -> Any:  # noqa: ARG002
        return _Opaque

    def persistent_load(self, pid: Any) -> Any:
        _check_key(pid, {})
        return _Opaque()

    def _call(self) -> None:
        """REDUCE and NEWOBJ, of which the arguments alone are looked at."""
        arguments = self.stack.pop()
        _check_key(tuple(arguments), {})
        self.stack[-1] = _Opaque()

    def _keep(self) -> None:
        """BUILD."""
        self.stack.pop()

    def _set_items(self, load: Callable[[Any], None]) -> None:
        items = self.stack[-2:] if load is _SETITEM else self.stack
        for key in items[::2]:
            _check_key(key, {})
        load(self)

    dispatch: ClassVar[dict[int, Callable[[Any], None]]] = {
        **{code: load for code, load in _OPCODES.items() if code != pickle.BYTEARRAY8[0]},
        pickle.REDUCE[0]: _call,
        pickle.NEWOBJ[0]: _call,
        pickle.BUILD[0]: _keep,
        pickle.SETITEM[0]: partial(_set_items, load=_SETITEM),
        pickle.SETITEMS[0]: partial(_set_items, load=_SETITEMS),
    }


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
        content = script_tensors(file) if is_script_archive(file) else load_tensors(file)
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
