"""Features that are published as one file of one vector a clip, as `.npy` files and a table for `vtr ingest pairs`.

HowTo100M (Miech et al. 2019): `MSRVTT_JSFUSION_test.pth`, {"2d": {id: vector}, "3d": {…}}, whose captions are in
`MSRVTT_JSFUSION_test.csv`; `youcook_val.pkl`, a list of {"id", "caption", "2d", "3d"}. AVLnet (Rouditchenko et al.
2021): such lists with "audio", a spectrogram of 40 bands, and for MSR-VTT "2d_pooled", "3d_pooled", "eval_caption".

Pickles are read by an unpickler that makes numbers, texts, arrays and tensors; whatever else one asks for is refused.
"""

import csv
import io
import pickle
import warnings
from collections import Counter, OrderedDict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from math import prod
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import torch
from torch import Tensor

from vtr_core.backbones.davenet import COLUMNS_A_ROW, load
from vtr_core.backbones.inputs import BANDS
from vtr_core.backbones.weights import ARCHIVE_FAULTS, PLAIN_OPERATIONS, READ_FAULTS, load_tensors
from vtr_core.data.sources.files import read_table
from vtr_core.errors import ConfigError, InputError
from vtr_core.storage import locate

_VALUES = frozenset(("f2", "f4", "f8", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "b1"))
_STREAMS = ("2d", "3d")
_WRITTEN = (
    *(pickle.BINBYTES, pickle.SHORT_BINBYTES, pickle.BINBYTES8, pickle.BINSTRING, pickle.SHORT_BINSTRING),
    *(pickle.SHORT_BINUNICODE, pickle.FRAME, pickle.MEMOIZE, pickle.STACK_GLOBAL, pickle.LONG4),
)
"""The operations that Python's pickles of arrays have beside those of torch."""


@dataclass(frozen=True)
class PublishedClip:
    """A clip of a published file."""

    clip_id: str
    captions: tuple[str, ...]
    """That of the test alone, where a file says which it is."""
    streams: tuple[np.ndarray, ...]
    """2D and 3D, (dim,) each."""
    spectrogram: np.ndarray | None
    """(bands, columns), 100 columns a second."""


def convert_features(file: str, out: str, captions: str | None = None, davenet: str | None = None) -> tuple[int, int]:
    """Write `table.csv` and `video/<number>.npy` into the new folder `out`; the numbers of clips, and of those heard.

    A clip's video is its 2D and its 3D vector, each of length 1, one after the other. captions: a table of video_id and
    sentence, for files without. davenet: weights of AVLnet, by which spectrograms become `audio/<number>.npy`, the mean
    over the valid rows (1024,); without them a clip has no audio. Ids that repeat get a number.

    InputError for a file of another kind, ConfigError where `out` exists.
    """
    folder = Path(out)
    if folder.exists():
        raise ConfigError(f"{out} exists; give a new folder")
    clips = list(_with_captions(_clips(_content(file), file), captions, file))
    network = None if davenet is None else load(davenet, "cpu").network
    for name in ("video", *(() if network is None else ("audio",))):
        (folder / name).mkdir(parents=True)
    seen: Counter[str] = Counter()
    heard = 0
    with (folder / "table.csv").open("w", newline="", encoding="utf-8") as table:
        rows = csv.writer(table)
        rows.writerow(["id", "caption", "video", "audio"])
        for number, clip in enumerate(clips):
            name, audio = f"{number:06d}.npy", ""
            np.save(folder / "video" / name, np.concatenate([_unit(stream) for stream in clip.streams]))
            if network is not None and clip.spectrogram is not None:
                audio, heard = f"audio/{name}", heard + 1
                np.save(folder / audio, _heard(network, clip.spectrogram))
            seen[clip.clip_id] += 1
            again = "" if seen[clip.clip_id] == 1 else f"-{seen[clip.clip_id]}"
            rows.writerows([f"{clip.clip_id}{again}", text, f"video/{name}", audio] for text in clip.captions)
    return len(clips), heard


def _unit(vector: np.ndarray) -> np.ndarray:
    values = vector.astype(np.float64)
    return (values / max(float(np.linalg.norm(values)), 1e-12)).astype(np.float32)


def _heard(network: Callable[[Tensor], Tensor], spectrogram: np.ndarray) -> np.ndarray:
    """The mean of DAVEnet's rows, (1024,); zeros are appended up to a whole row."""
    columns = torch.from_numpy(np.array(spectrogram, np.float32))
    with torch.inference_mode():
        rows = network(torch.nn.functional.pad(columns, (0, -columns.shape[1] % COLUMNS_A_ROW))[None])[0]
    valid = max(1, columns.shape[1] // COLUMNS_A_ROW)
    return rows[:, :valid].mean(dim=1).numpy()


def _with_captions(clips: Iterator[PublishedClip], captions: str | None, file: str) -> Iterator[PublishedClip]:
    """The clips with those of the table, in its order; InputError where a clip has no caption at all."""
    if captions is None:
        for clip in clips:
            if not clip.captions:
                raise InputError(
                    f"{file} holds no captions; give the table of them: --captions MSRVTT_JSFUSION_test.csv"
                )
            yield clip
        return
    by_id: Mapping[str, PublishedClip] = {clip.clip_id: clip for clip in clips}
    for row in read_table(locate(captions), ("video_id", "sentence")):
        name = row.required_id("video_id")
        if name not in by_id:
            raise InputError(f"{captions}: {name} is not in {file}; give the table of the same clips")
        yield replace(by_id[name], captions=(row.text("sentence") or "",))


def _clips(content: Any, file: str) -> Iterator[PublishedClip]:
    if isinstance(content, Mapping) and all(isinstance(content.get(stream), Mapping) for stream in _STREAMS):
        for name in content["2d"]:
            streams = [_vector(content[stream].get(name), f"{file}: {stream} of {name!r}") for stream in _STREAMS]
            yield PublishedClip(str(name), (), tuple(streams), None)
    elif isinstance(content, list) and all(isinstance(entry, Mapping) for entry in content):
        for number, entry in enumerate(content):
            yield _of_entry(entry, f"{file}: clip {number}")
    else:
        raise InputError(f"{file} holds no clips with 2d and 3d features; give a published file of HowTo100M or AVLnet")


def _of_entry(entry: Mapping[str, Any], where: str) -> PublishedClip:
    if not isinstance(entry.get("id"), str):
        raise InputError(f"{where} has no id, or one that is no text: {entry.get('id')!r}")
    texts = entry.get("eval_caption", entry.get("caption", ()))
    captions = (texts,) if isinstance(texts, str) else tuple(texts) if isinstance(texts, list | tuple) else (texts,)
    if not all(isinstance(text, str) for text in captions):
        raise InputError(f"{where} has a caption that is no text: {texts!r:.80}")
    streams = [_vector(entry.get(f"{stream}_pooled", entry.get(stream)), f"{where}, {stream}") for stream in _STREAMS]
    audio = entry.get("audio")
    spectrogram = None if audio is None else _array(audio, f"{where}, audio")
    if spectrogram is not None and (spectrogram.ndim != 2 or len(spectrogram) != BANDS):
        raise InputError(f"{where}, audio: its shape is {spectrogram.shape}; a spectrogram has {BANDS} bands")
    return PublishedClip(entry["id"], captions, tuple(streams), spectrogram)


def _vector(value: Any, where: str) -> np.ndarray:
    array = _array(value, where)
    if array.ndim != 1 or not array.size or not np.isfinite(array).all():
        raise InputError(
            f"{where}: its shape is {array.shape}, or a value is not finite; pooled features are one vector"
        )
    return array


def _array(value: Any, where: str) -> np.ndarray:
    if isinstance(value, Tensor):
        return value.float().numpy()
    if isinstance(value, np.ndarray):
        return value
    raise InputError(f"{where}: {type(value).__name__}, which is no array")


def _content(file: str) -> Any:
    """What torch.save or pickle wrote; InputError for a file of neither, or one that asks for code."""
    place = Path(file)
    if not place.is_file():
        raise InputError(f"there is no file {file}; give a published file of features, .pth or .pkl")
    faults = (*READ_FAULTS, *ARCHIVE_FAULTS, MemoryError)
    try:
        if place.suffix in (".pth", ".pt"):
            return load_tensors(place)
        with place.open("rb") as opened:
            return _arrays(_Unpickler(_Bounded(opened.raw, place.stat().st_size)).load())
    except faults as error:
        why = str(error) or "it is cut off"
        raise InputError(f"{file} is no file of features ({why}); give .pth by torch, or a pickle of arrays") from error


class _Bounded(io.BufferedReader):
    """A file of which no more is asked for at once than it has: a pickle states how many bytes follow."""

    def __init__(self, raw: Any, size: int) -> None:
        super().__init__(raw)
        self._size = size

    def read(self, size: int | None = -1, /) -> bytes:
        if size is not None and size > self._size:
            raise EOFError
        return super().read(size)


class _Stored:
    """An array or its type, as a pickle builds them: made of arguments, completed by a state."""

    def __init__(self, *arguments: Any) -> None:
        self.arguments, self.state = arguments, ()  # type: tuple[Any, ...], tuple[Any, ...]

    def __setstate__(self, state: Any) -> None:
        self.state = tuple(state)


class _ArrayType(_Stored):
    """`numpy.dtype(code, …)`; the state's second entry is the order of bytes."""

    def made(self) -> np.dtype[Any]:
        code = str(self.arguments[0])
        if code not in _VALUES:
            raise pickle.UnpicklingError(f"an array has values of type {code}, which are no numbers")
        swapped = len(self.state) > 1 and self.state[1] == ">"
        return np.dtype(code).newbyteorder(">" if swapped else "|")


class _Array(_Stored):
    """`ndarray`; its state is (version, shape, type, whether by columns, bytes)."""

    def made(self) -> np.ndarray:
        _, shape, kind, by_columns, raw = self.state
        content = raw.encode("latin1") if isinstance(raw, str) else raw
        return np.frombuffer(content, kind.made()).reshape(shape, order="F" if by_columns else "C")


def _scalar(kind: _ArrayType, raw: bytes | str) -> float | int:
    content = raw.encode("latin1") if isinstance(raw, str) else raw
    value: float | int = np.frombuffer(content, kind.made())[0].item()
    return value


def _rebuild(storage: Any, offset: int, size: tuple[int, ...], stride: tuple[int, ...], *_: Any) -> Tensor:
    with warnings.catch_warnings(
        action="ignore", category=UserWarning
    ):  # such storages are deprecated, not their files
        values = torch.tensor([], dtype=storage.dtype).set_(storage.untyped())
    if prod(size) > len(values):
        raise pickle.UnpicklingError("a tensor is larger than what it is stored in")
    return values.as_strided(size, stride, offset).clone()


_CALLED: Mapping[tuple[str, str], Callable[..., Any]] = {
    **{(f"numpy.{core}.multiarray", "_reconstruct"): _Array for core in ("core", "_core")},
    **{(f"numpy.{core}.multiarray", "scalar"): _scalar for core in ("core", "_core")},
    ("numpy", "dtype"): _ArrayType,
    ("numpy", "ndarray"): _Stored,
    ("_codecs", "encode"): lambda text, _="latin1": str(text).encode("latin1"),
    ("collections", "OrderedDict"): OrderedDict,
    ("torch._utils", "_rebuild_tensor_v2"): _rebuild,
    ("torch.storage", "_load_from_bytes"): lambda content: load_tensors(io.BufferedReader(io.BytesIO(content))),
}


def _build(unpickler: Any) -> None:
    """BUILD for arrays and their types alone."""
    state = unpickler.stack.pop()
    if not isinstance(unpickler.stack[-1], _Stored) or not isinstance(state, tuple):
        raise pickle.UnpicklingError("a state is set of what is no array")
    unpickler.stack[-1].__setstate__(state)


_OPCODES: dict[int, Callable[[Any], None]] = pickle._Unpickler.dispatch  # noqa: SLF001


class _Unpickler(pickle._Unpickler):  # noqa: SLF001
    """Makes numbers, texts, lists, dictionaries, arrays and tensors."""

    dispatch: ClassVar[dict[int, Callable[[Any], None]]] = {
        **PLAIN_OPERATIONS,
        **{code[0]: _OPCODES[code[0]] for code in _WRITTEN},
        pickle.BUILD[0]: _build,
    }

    def __init__(self, file: Any) -> None:
        super().__init__(file, encoding="latin1")  # Python 2's texts and bytes

    def find_class(self, module: str, name: str) -> Any:
        if (module, name) not in _CALLED:
            raise pickle.UnpicklingError(f"it asks for {module}.{name}, which is no array")
        return _CALLED[module, name]


def _arrays(value: Any) -> Any:
    """The content with arrays in the place of what was read of them."""
    match value:
        case _Array():
            return value.made()
        case dict():
            return {name: _arrays(inner) for name, inner in value.items()}
        case list() | tuple():
            return type(value)(_arrays(inner) for inner in value)
        case _:
            return value
