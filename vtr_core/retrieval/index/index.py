"""Index: the vectors of a data set's videos in files, with a record of model and data.

Files: one `.npy` for each tensor, the items as Arrow IPC, optionally a graph of faiss, each named after its content,
and `index.json`, which is written last and atomically: it names the files of the current revision, and a folder without
it is no index. Nothing is unpickled, and the files of a local index are mapped into memory, not read.
"""

import hashlib
import io
import mmap
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Literal

import numpy as np
import pyarrow as pa

from vtr_core import storage
from vtr_core.config.record import record
from vtr_core.errors import DatasetError
from vtr_core.fingerprint import fingerprint
from vtr_core.retrieval.embed.model_fingerprint import model_fingerprint as model_fingerprint
from vtr_core.retrieval.index.items import Item as Item
from vtr_core.retrieval.index.items import Items
from vtr_core.storage import Location, is_file_name

MARKER, ITEMS, CANDIDATES = "index.json", "items", "candidates"
VERSION = 2
LARGEST_HASHED = 64 * 2**20
"""Local vectors of more bytes are checked by their size alone, so that opening does not read them."""

Backend = Literal["exact", "faiss"]
Kind = Literal["dual", "joint"]


@dataclass(frozen=True)
class StoredFile:
    """A file of the index."""

    file: str
    bytes: int
    sha256: str


@dataclass(frozen=True)
class IndexRecord:
    """The content of `index.json`: kind, model, data and files of an index."""

    kind: Kind
    """dual: latent vectors and concept scores of a dual encoder; joint: vectors of one joint space by modality."""
    checkpoint: str
    model_fingerprint: str
    preset: str
    data: str
    data_fingerprint: str
    num_items: int
    sizes: dict[str, int]
    """Dimensions by tensor."""
    similarity: str
    """dual: similarity of concept scores, while latent vectors are compared by cosine; joint: of the vectors."""
    latent_weight: float
    backend: Backend = "exact"
    concepts: tuple[str, ...] = ()
    files: dict[str, StoredFile] = field(default_factory=dict)
    """By the name of a tensor, or `items`, or `candidates`."""
    revision: int = 1
    """Number of times that the index was written."""
    version: int = VERSION

    def to_json(self) -> dict[str, Any]:
        """The record with its fingerprint."""
        value = {**asdict(self), "concepts": list(self.concepts)}
        return {**value, "fingerprint": fingerprint(value)}


@dataclass(frozen=True)
class VideoIndex:
    """An index; row i of every tensor is item i. The tensors of a stored local index are mapped from its files."""

    record: IndexRecord
    tensors: dict[str, np.ndarray]
    items: Sequence[Item]
    concepts: tuple[str, ...] = ()
    candidates: bytes | None = None
    """The faiss graph of the vectors in serialised form."""


def save_index(location: Location, index: VideoIndex) -> IndexRecord:
    """Write an index as the next revision of the one at `location`, atomically for readers; returns its record.

    The files of the former revision are deleted afterwards; processes that have mapped them keep them.
    """
    before = load_record(location) if _is_current(location) else None
    items = index.items if isinstance(index.items, Items) else Items.of(index.items)
    files = {name: _store_array(location, name, tensor) for name, tensor in index.tensors.items()}
    files[ITEMS] = _store(location, ITEMS, "arrow", items.to_bytes())
    if index.candidates is not None:
        files[CANDIDATES] = _store(location, CANDIDATES, "faiss", index.candidates)
    revision = 1 if before is None else before.revision + 1
    found = replace(index.record, files=files, concepts=index.concepts, revision=revision)
    storage.write_json(location / MARKER, found.to_json())
    stay = {stored.file for stored in files.values()}
    for stored in () if before is None else before.files.values():
        if stored.file not in stay:
            storage.delete_file(location / stored.file)
    return found


def _is_current(location: Location) -> bool:
    """Whether there is an index that this code reads; an older or damaged one is replaced as a whole."""
    try:
        load_record(location)
    except (DatasetError, storage.StorageError):
        return False
    return True


def _store_array(location: Location, name: str, tensor: np.ndarray) -> StoredFile:
    """Write a tensor as `.npy`, in pieces of its memory."""
    header = io.BytesIO()
    array = np.ascontiguousarray(tensor)
    np.lib.format.write_array_header_1_0(header, np.lib.format.header_data_from_array_1_0(array))
    return _store(location, name, "npy", header.getvalue(), array.reshape(-1).view(np.uint8).data)


def _store(location: Location, name: str, suffix: str, *parts: bytes | memoryview) -> StoredFile:
    """Write a file named after its content, unless it is there."""
    digest = hashlib.sha256()
    for part in parts:
        digest.update(part)
    stored = StoredFile(f"{name}-{digest.hexdigest()[:16]}.{suffix}", sum(map(len, parts)), digest.hexdigest())
    with storage.open_for_writing(location / stored.file) as sink:
        for part in parts:
            sink.write(part)
    return stored


def load_record(location: Location) -> IndexRecord:
    """The record of the index at `location`; DatasetError where it is missing, of another version or damaged."""
    storage.check_readable(location)
    if not storage.exists(location / MARKER):
        raise DatasetError(
            f"{location} is not an index: it has no {MARKER}; make one with vtr index <checkpoint> --data <URI> "
            f"--out {location}"
        )
    value = storage.read_json(location / MARKER)
    if isinstance(value, dict) and value.get("version") not in (None, VERSION):
        raise DatasetError(
            f"{location} is an index of version {value['version']}, this code reads {VERSION}; make it anew with "
            f"vtr index {value.get('checkpoint', '<checkpoint>')} --data {value.get('data', '<URI>')} --out {location}"
        )
    try:
        files = {name: record(StoredFile, file) for name, file in value["files"].items()}
        found = record(IndexRecord, {**value, "files": files, "concepts": tuple(map(str, value["concepts"]))})
        if value.get("fingerprint") != found.to_json()["fingerprint"]:
            raise ValueError("it does not match its fingerprint")
        if not {ITEMS, *found.sizes} <= found.files.keys() or not found.sizes:
            raise ValueError("its files are not those of an index")
        if not all(is_file_name(stored.file) for stored in files.values()):
            raise ValueError("a file is not in its folder")
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise _damaged(location / MARKER, error) from error
    return found


def load_index(location: Location) -> VideoIndex:
    """The index at `location`; DatasetError where it is missing or damaged.

    The hashes of its files are checked, but for local vectors of more than LARGEST_HASHED bytes.
    """
    found = load_record(location)
    buffers = {name: _read(location / stored.file, stored) for name, stored in found.files.items()}
    try:
        tensors = {name: _array(buffer) for name, buffer in buffers.items() if name not in (ITEMS, CANDIDATES)}
        items = Items.from_buffer(pa.py_buffer(buffers[ITEMS]))
        candidates = bytes(buffers[CANDIDATES]) if CANDIDATES in buffers else None
        index = VideoIndex(found, tensors, items, found.concepts, candidates)
        _check_rows(index)
    except Exception as error:  # whatever the parsers meet in a file that someone else made
        raise _damaged(location, error) from error
    return index


def _array(content: memoryview) -> np.ndarray:
    """The array of a `.npy` file as a view of its bytes."""
    head = io.BytesIO(content[: 2**16])
    np.lib.format.read_magic(head)
    shape, fortran, dtype = np.lib.format.read_array_header_1_0(head)
    if fortran or dtype.hasobject:
        raise ValueError("an array has another layout")
    values = np.frombuffer(content, dtype, offset=head.tell())
    return values.reshape(shape)


def _check_rows(index: VideoIndex) -> None:
    """ValueError where tensors, items and record are inconsistent."""
    rows = {name: len(tensor) for name, tensor in index.tensors.items()}
    if set(rows.values()) != {len(index.items)} or len(index.items) != index.record.num_items:
        raise ValueError(f"it lists {len(index.items)} items, its tensors hold {rows}")
    found = sizes(index.tensors)
    if found != index.record.sizes or not found:
        raise ValueError(f"its tensors have the sizes {found}, its record says {index.record.sizes}")
    if index.record.kind == "dual" and len(index.concepts) != found.get("concept", 0):
        raise ValueError(f"it names {len(index.concepts)} concepts and scores {found.get('concept', 0)}")


def _read(location: Location, stored: StoredFile) -> memoryview:
    """A file's bytes, mapped where it is local, copied on writing."""
    if not storage.exists(location):
        raise DatasetError(f"{location} is missing though the index lists it; run vtr index again")
    if location.is_local:
        with open(location.path, "rb") as file:
            content = memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY))
    else:
        content = memoryview(bytearray(storage.read_bytes(location)))
    if len(content) != stored.bytes:
        raise _damaged(location, f"it has {len(content)} bytes, not {stored.bytes}")
    trusted = location.is_local and location.name.endswith(".npy") and len(content) > LARGEST_HASHED
    if not trusted and hashlib.sha256(content).hexdigest() != stored.sha256:
        raise _damaged(location, "its sha256 differs")
    return content


def _damaged(location: Location, fault: object) -> DatasetError:
    return DatasetError(f"{location} is damaged ({fault}); run vtr index again")


def sizes(tensors: Mapping[str, np.ndarray]) -> dict[str, int]:
    """The dimensions of the matrices among the tensors, by name."""
    return {name: int(tensor.shape[1]) for name, tensor in tensors.items() if tensor.ndim == 2}
