"""An index: vectors and items of videos in files that are mapped into memory, with a record of model and data.

The items lie in shards of consecutive ones. Files of a shard: one `.npy` for each tensor, the items as Arrow IPC, the
hashes of their ids, optionally a `.npy` for each array of candidates, each named after its content. `index.json` is
written last and atomically: it names the files of the current revision, and a folder without it is no index. Nothing is
unpickled, and the files of a local index are mapped into memory, not read.
"""

import hashlib
import io
import mmap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from typing import Any, Literal

import numpy as np
import pyarrow as pa
from jaxtyping import Int64

from vtr_core import storage
from vtr_core.config.override import record
from vtr_core.errors import DatasetError, RunConflict, command_line
from vtr_core.fingerprint import fingerprint, key64
from vtr_core.retrieval.index.items import Item, Items
from vtr_core.storage import Location, is_file_name

MARKER, ITEMS, KEYS, ORDER = "index.json", "items", "id_keys", "id_order"
CANDIDATES = "candidates."
"""Before the name of an array of candidates."""
_FAISS = "candidates"
"""The file of an earlier version: what faiss itself wrote, which is not read."""
VERSION = 3
CONCEPTS = "concept"
"""The tensor of concept scores (dual), or of z of the concepts that explain a similarity (joint)."""
LARGEST_HASHED = 64 * 2**20
"""Local vectors of more bytes are checked by their size alone, so that opening does not read them."""
_AT_ONCE = 65_536

Backend = Literal["exact", "ivf-pq", "hnsw"]
"""hnsw: of an earlier version, whose graph is not read: all items are compared with each query."""
Kind = Literal["dual", "joint"]


@dataclass(frozen=True)
class StoredFile:
    """A file of the index."""

    file: str
    bytes: int
    sha256: str


@dataclass(frozen=True)
class StoredShard:
    """Consecutive items of the index, in files of their own."""

    num_items: int
    files: dict[str, StoredFile]
    """By the name of a tensor, `items`, `id_keys`, `id_order`, or `candidates.` and the name of an array of candidates.
    """


@dataclass(frozen=True)
class IndexRecord:
    """The content of `index.json`: kind, model, data and shards of an index."""

    kind: Kind
    """dual: latent vectors and concept scores of a dual encoder; joint: vectors of one joint space by modality."""
    checkpoint: str
    model_fingerprint: str
    preset: str
    data: str
    data_fingerprint: str
    num_items: int
    sizes: dict[str, int]
    """Dimensions by tensor, of all shards together: one may lack a modality."""
    similarity: str
    """dual: similarity of concept scores, while latent vectors are compared by cosine; joint: of the vectors."""
    latent_weight: float
    backend: Backend = "exact"
    concepts: tuple[str, ...] = ()
    shards: tuple[StoredShard, ...] = ()
    revision: int = 1
    """Number of times that the index was written."""
    version: int = VERSION

    def to_json(self) -> dict[str, Any]:
        """The record with its fingerprint."""
        value = {**asdict(self), "concepts": list(self.concepts), "shards": [asdict(shard) for shard in self.shards]}
        return {**value, "fingerprint": fingerprint(value)}

    @property
    def files(self) -> tuple[StoredFile, ...]:
        """The files of all shards."""
        return tuple(file for shard in self.shards for file in shard.files.values())


def load_record(location: Location) -> IndexRecord:
    """The record of the index at `location`; DatasetError where it is missing, of another version or damaged."""
    storage.check_readable(location)
    if not storage.exists(location / MARKER):
        raise DatasetError(
            f"{location} is not an index: it has no {MARKER}; make one with "
            f"{command_line('index', 'VIDEOS', '--out', location)}, or "
            f"{command_line('index', 'CHECKPOINT', '--data', 'URI', '--out', location)}"
        )
    value = storage.read_json(location / MARKER)
    if isinstance(value, dict) and value.get("version") not in (None, VERSION):
        made_of = [value.get("checkpoint", "CHECKPOINT"), "--data", value.get("data", "URI")]
        raise DatasetError(
            f"{location} is an index of version {value['version']}, this code reads {VERSION}; make it anew with "
            + command_line("index", *made_of, "--out", location)
        )
    try:
        shards = tuple(
            record(StoredShard, {**shard, "files": {n: record(StoredFile, f) for n, f in shard["files"].items()}})
            for shard in value["shards"]
        )
        loaded = record(IndexRecord, {**value, "shards": shards, "concepts": tuple(map(str, value["concepts"]))})
        if value.get("fingerprint") != loaded.to_json()["fingerprint"]:
            raise ValueError("it does not match its fingerprint")
        if not shards or not all({ITEMS, KEYS, ORDER} < shard.files.keys() for shard in shards):
            raise ValueError("its files are not those of an index")
        if not all(is_file_name(stored.file) for stored in loaded.files):
            raise ValueError("a file is not in its folder")
        if loaded.backend == "exact" and any(name.startswith(CANDIDATES) for shard in shards for name in shard.files):
            raise ValueError("it lists candidates, which an exact index does not have")
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise _damaged(location / MARKER, error) from error
    return loaded


def _damaged(location: Location, fault: object) -> DatasetError:
    """The error for a file, or a folder, that is not as it was written."""
    return DatasetError(f"{location} is damaged ({fault}); run vtr index again")


@dataclass(frozen=True)
class Lookup:
    """The hashes of the items' ids, ascending, and the position of each."""

    keys: Int64[np.ndarray, " items"]
    order: Int64[np.ndarray, " items"]

    @classmethod
    def of(cls, items: Items) -> "Lookup":
        """The lookup of a table of items."""
        batches = items.table.select(["item_id"]).to_batches(_AT_ONCE)
        parts = [np.array([key64(text) for text in batch.column(0).to_pylist()], np.int64) for batch in batches]
        keys = np.concatenate([np.zeros(0, np.int64), *parts])
        order = np.argsort(keys, kind="stable").astype(np.int64)
        return cls(keys[order], order)

    def find(self, item_id: str, items: Sequence[Item]) -> int | None:
        """The position of the item with this id, None where there is none; items: those that the lookup is of."""
        key = np.int64(key64(item_id))
        first, end = np.searchsorted(self.keys, key), np.searchsorted(self.keys, key, "right")
        positions = (int(position) for position in self.order[first:end] if 0 <= position < len(items))
        return next((position for position in positions if items[position].item_id == item_id), None)


@dataclass(frozen=True)
class Shard:
    """Consecutive items of an index; row i of every tensor is item i. Of a stored local index all is mapped."""

    tensors: dict[str, np.ndarray]
    items: Items
    lookup: Lookup
    candidates: Mapping[str, np.ndarray] | None = None
    """Arrays of candidates by name, see `candidates.py`; a shard without is searched exactly."""
    stored: StoredShard | None = None
    """Its files, where it was loaded."""

    @classmethod
    def of(cls, tensors: dict[str, np.ndarray], items: Iterable[Item]) -> "Shard":
        """A new shard."""
        table = items if isinstance(items, Items) else Items.of(items)
        return cls(tensors, table, Lookup.of(table))

    @property
    def modalities(self) -> list[str]:
        """The names of the vectors of a joint space among the tensors, one for each modality."""
        return [name for name in self.sizes if f"has_{name}" in self.tensors]

    @property
    def sizes(self) -> dict[str, int]:
        """The dimensions of the matrices among the tensors, by name."""
        return {name: int(tensor.shape[1]) for name, tensor in self.tensors.items() if tensor.ndim == 2}


@dataclass(frozen=True)
class VideoIndex:
    """An index, or some consecutive shards of one."""

    record: IndexRecord
    shards: tuple[Shard, ...]
    concepts: tuple[str, ...] = ()

    @classmethod
    def of(cls, record: IndexRecord, *shards: Shard, concepts: tuple[str, ...] = ()) -> "VideoIndex":
        """An index of these shards, one or more, whose number of items and sizes are recorded."""
        sizes = {name: size for shard in shards for name, size in shard.sizes.items()}
        num_items = sum(len(shard.items) for shard in shards)
        counted = replace(record, num_items=num_items, sizes=dict(sorted(sizes.items())), concepts=concepts)
        return cls(counted, shards, concepts)

    @cached_property
    def items(self) -> Items:
        """The items of all shards, whose memory they share."""
        tables = [shard.items.table for shard in self.shards]
        return self.shards[0].items if len(tables) == 1 else Items(pa.concat_tables(tables, promote_options="default"))

    def position(self, item_id: str) -> int | None:
        """The position of an item among all; None for an id that the index does not have."""
        first = 0
        for shard in self.shards:
            position = shard.lookup.find(item_id, shard.items)
            if position is not None:
                return first + position
            first += len(shard.items)
        return None


@dataclass(frozen=True)
class PlannedIndex:
    """An index that is built shard by shard: one is held in memory at a time."""

    record: IndexRecord
    """Without sizes and items, which are known once the shards are built."""
    shards: Iterator[Shard]
    concepts: tuple[str, ...] = ()

    def whole(self) -> VideoIndex:
        """All shards in memory; DatasetError where there is nothing to find."""
        shards = tuple(self.shards)
        if not shards:
            raise DatasetError(f"{self.record.data}: no clip has any feature that the model takes; nothing is found")
        return VideoIndex.of(self.record, *shards, concepts=self.concepts)


def save_index(location: Location, index: VideoIndex | PlannedIndex) -> IndexRecord:
    """Write the shards as they come, as the next revision of the index at `location`, atomically for readers.

    Returns the record, which counts their items. Shards that the index has already are not written again. The files of
    the former revision are deleted afterwards; processes that have mapped them keep them. Where writing fails or is
    interrupted, the former revision is left as it was and the new files are deleted. DatasetError for no shard.
    RunConflict where another process wrote a revision after the record was loaded, or since this call began.
    """
    conflict = RunConflict(f"{location} was changed meanwhile by another command; repeat the command")
    before = _current(location)
    # Two revisions that were written at once may have the same number: their shards tell them apart.
    revision = index.record.revision, index.record.shards
    if before is not None and index.record.shards and revision != (before.revision, before.shards):
        raise conflict
    written: list[StoredFile] = []
    try:
        saved = _next_revision(location, index, before, written)
        if _current(location) != before:
            raise conflict
        storage.write_json(location / MARKER, saved.to_json())
    except BaseException:
        with suppress(storage.StorageError):
            _delete(location, written, before, _current(location))
        raise
    if before is not None:
        _delete(location, before.files, saved)
    return saved


def _next_revision(
    location: Location, index: VideoIndex | PlannedIndex, before: IndexRecord | None, written: list[StoredFile]
) -> IndexRecord:
    """The record of the shards after their files are stored; those that are new are added to `written`."""
    stored, sizes = [], dict[str, int]()
    for shard in index.shards:
        known = before is not None and shard.stored in before.shards
        stored.append(shard.stored if known and shard.stored is not None else _store(location, shard, written))
        sizes |= shard.sizes
    if not stored:
        raise DatasetError("there is nothing to find: no item has any feature that the model takes")
    return replace(
        index.record,
        num_items=sum(shard.num_items for shard in stored),
        sizes=dict(sorted(sizes.items())),
        shards=tuple(stored),
        concepts=index.concepts,
        revision=1 if before is None else before.revision + 1,
    )


def _delete(location: Location, files: Iterable[StoredFile], *revisions: IndexRecord | None) -> None:
    """Delete those of the files that none of the revisions has."""
    needed = {file.file for revision in revisions if revision is not None for file in revision.files}
    for file in files:
        if file.file not in needed:
            storage.delete_file(location / file.file)


def _current(location: Location) -> IndexRecord | None:
    """The record of an index that this code reads; None for an older or damaged one, which is replaced as a whole."""
    try:
        return load_record(location)
    except (DatasetError, storage.StorageError):
        return None


def _store(location: Location, shard: Shard, written: list[StoredFile]) -> StoredShard:
    arrays = {**shard.tensors, KEYS: shard.lookup.keys, ORDER: shard.lookup.order}
    arrays |= {f"{CANDIDATES}{name}": array for name, array in (shard.candidates or {}).items()}
    contents: dict[str, tuple[bytes | memoryview, ...]] = {f"{name}.npy": _npy(a) for name, a in arrays.items()}
    contents[f"{ITEMS}.arrow"] = (shard.items.to_bytes(),)
    files: dict[str, StoredFile] = {}
    for file_name, parts in contents.items():
        name, _, suffix = file_name.rpartition(".")
        files[name] = _store_file(location, name, suffix, *parts)
        written.append(files[name])
    return StoredShard(len(shard.items), files)


def _npy(tensor: np.ndarray) -> tuple[bytes, memoryview]:
    """The header of a `.npy` file, and the values where they lie."""
    header, array = io.BytesIO(), np.ascontiguousarray(tensor)
    np.lib.format.write_array_header_1_0(header, np.lib.format.header_data_from_array_1_0(array))
    return header.getvalue(), array.reshape(-1).view(np.uint8).data


def _store_file(location: Location, name: str, suffix: str, *parts: bytes | memoryview) -> StoredFile:
    """Write a file named after its content."""
    digest = hashlib.sha256()
    for part in parts:
        digest.update(part)
    stored = StoredFile(f"{name}-{digest.hexdigest()[:16]}.{suffix}", sum(map(len, parts)), digest.hexdigest())
    with storage.open_for_writing(location / stored.file) as sink:
        for part in parts:
            sink.write(part)
    return stored


def load_index(location: Location, part: int = 0, parts: int = 1) -> VideoIndex:
    """The index at `location`, or the shards of one of `parts` parts; DatasetError where it is missing or damaged.

    The hashes of its files are checked, but for local vectors of more than LARGEST_HASHED bytes.
    """
    whole = load_record(location)
    first, end = (len(whole.shards) * bound // parts for bound in (part, part + 1))
    chosen = whole.shards[first:end]
    loaded = replace(whole, shards=chosen, num_items=sum(shard.num_items for shard in chosen))
    try:
        shards = tuple(_load(location, loaded, shard) for shard in chosen)
        scores = loaded.sizes.get(CONCEPTS, 0)
        if len(loaded.concepts) != scores:
            raise ValueError(f"it names {len(loaded.concepts)} concepts and scores {scores}")
    except DatasetError:
        raise
    except Exception as error:  # whatever the parsers meet in a file that someone else made
        raise _damaged(location, error) from error
    return VideoIndex(loaded, shards, loaded.concepts)


def _load(location: Location, whole: IndexRecord, stored: StoredShard) -> Shard:
    is_graph = whole.backend == "hnsw"
    used = [name for name in stored.files if name != _FAISS and not (is_graph and name.startswith(CANDIDATES))]
    buffers = {name: _read(location / stored.files[name].file, stored.files[name]) for name in used}
    items = Items.from_buffer(pa.py_buffer(buffers.pop(ITEMS)))
    arrays = {name: _as_array(buffer) for name, buffer in buffers.items()}
    listed = [name for name in arrays if name.startswith(CANDIDATES)]
    candidates = {name.removeprefix(CANDIDATES): arrays.pop(name) for name in listed} or None
    rows = {name: len(array) for name, array in arrays.items()}
    if set(rows.values()) != {len(items)} or len(items) != stored.num_items:
        raise ValueError(f"it lists {len(items)} items of {stored.num_items}, its tensors hold {rows}")
    lookup = Lookup(arrays.pop(KEYS), arrays.pop(ORDER))
    if any(array.dtype != np.int64 or array.ndim != 1 for array in (lookup.keys, lookup.order)):
        raise ValueError("its keys are no integers of 64 bits")
    if any(array.dtype.kind not in "fb" or array.ndim > 2 for array in arrays.values()):
        raise ValueError("a tensor holds no floats")
    shard = Shard(arrays, items, lookup, candidates, stored)
    if not shard.sizes or not shard.sizes.items() <= whole.sizes.items():
        raise ValueError(f"its tensors have the sizes {shard.sizes}, its record says {whole.sizes}")
    return shard


def _read(location: Location, stored: StoredFile) -> memoryview:
    """A file's bytes, mapped where it is local, copied on writing; DatasetError where they are not those stored."""
    if not storage.exists(location):
        raise DatasetError(f"{location} is missing though the index lists it; run vtr index again")
    if location.is_local:
        location.open_file().close()  # an OSError for a pipe, which could not be opened
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


def _as_array(content: memoryview) -> np.ndarray:
    """The array of a `.npy` file as a view of its bytes; ValueError for another layout."""
    head = io.BytesIO(content[: 2**16])
    np.lib.format.read_magic(head)
    shape, fortran, dtype = np.lib.format.read_array_header_1_0(head)
    if fortran or dtype.hasobject:
        raise ValueError("an array has another layout")
    return np.frombuffer(content, dtype, offset=head.tell()).reshape(shape)
