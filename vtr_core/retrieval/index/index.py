"""Index: the vectors of a data set's videos in files, with a record of model and data.

The items lie in shards of consecutive ones. Files of a shard: one `.npy` for each tensor, the items as Arrow IPC, the
hashes of their ids, optionally faiss's candidates, each named after its content. `index.json` is written last and
atomically: it names the files of the current revision, and a folder without it is no index. Nothing is unpickled, and
the files of a local index are mapped into memory, not read.
"""

from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import pyarrow as pa

from vtr_core import storage
from vtr_core.errors import DatasetError, RunConflict
from vtr_core.retrieval.index.index_files import Lookup, as_array, read, store, store_array
from vtr_core.retrieval.index.items import Item, Items
from vtr_core.retrieval.index.record import (
    CANDIDATES,
    ITEMS,
    KEYS,
    MARKER,
    ORDER,
    IndexRecord,
    StoredFile,
    StoredShard,
    damaged,
    load_record,
)
from vtr_core.storage import Location


@dataclass(frozen=True)
class Shard:
    """Consecutive items of an index; row i of every tensor is item i. Of a stored local index all is mapped."""

    tensors: dict[str, np.ndarray]
    items: Items
    lookup: Lookup
    candidates: memoryview | None = None
    """Candidates by faiss in serialised form; a shard without is searched exactly."""
    stored: StoredShard | None = None
    """Its files, where it was loaded."""

    @classmethod
    def of(cls, tensors: dict[str, np.ndarray], items: Iterable[Item], candidates: memoryview | None = None) -> "Shard":
        """A new shard."""
        table = items if isinstance(items, Items) else Items.of(items)
        return cls(tensors, table, Lookup.of(table), candidates)


@dataclass(frozen=True)
class VideoIndex:
    """An index, or some consecutive shards of one."""

    record: IndexRecord
    shards: tuple[Shard, ...]
    concepts: tuple[str, ...] = ()

    @classmethod
    def of(cls, record: IndexRecord, *shards: Shard, concepts: tuple[str, ...] = ()) -> "VideoIndex":
        """An index of these shards, one or more, whose number of items and sizes are recorded."""
        return cls(_counted(record, shards, concepts), shards, concepts)

    @cached_property
    def items(self) -> Items:
        """The items of all shards, whose memory they share."""
        tables = [shard.items.table for shard in self.shards]
        return self.shards[0].items if len(tables) == 1 else Items(pa.concat_tables(tables, promote_options="default"))

    def position(self, item_id: str) -> int | None:
        """The position of an item among all; None for an id that the index does not have."""
        first = 0
        for shard in self.shards:
            found = shard.lookup.find(item_id, shard.items)
            if found is not None:
                return first + found
            first += len(shard.items)
        return None


def _counted(record: IndexRecord, shards: Iterable[Shard], concepts: tuple[str, ...]) -> IndexRecord:
    found = list(shards)
    held = {name: size for shard in found for name, size in sizes(shard.tensors).items()}
    num_items = sum(len(shard.items) for shard in found)
    return replace(record, num_items=num_items, sizes=dict(sorted(held.items())), concepts=concepts)


def save_index(location: Location, index: VideoIndex) -> IndexRecord:
    """Write an index as the next revision of the one at `location`, see `save_shards`."""
    return save_shards(location, index.record, index.shards, index.concepts)


def save_shards(
    location: Location, record: IndexRecord, shards: Iterable[Shard], concepts: tuple[str, ...] = ()
) -> IndexRecord:
    """Write shards as they come, as the next revision of the index at `location`, atomically for readers.

    Returns the record, which counts their items. Shards that the index has already are not written again. The files of
    the former revision are deleted afterwards; processes that have mapped them keep them. Where writing fails or is
    interrupted, the former revision is left as it was and the new files are deleted. DatasetError for no shard.
    RunConflict where another process wrote a revision after the record was loaded, or since this call began.
    """
    before = _current(location)
    if before is not None and record.shards and _revision(record) != _revision(before):
        raise _changed_meanwhile(location)
    written: list[StoredFile] = []
    try:
        found = _next_revision(location, record, before, shards, concepts, written)
        if _current(location) != before:
            raise _changed_meanwhile(location)
        storage.write_json(location / MARKER, found.to_json())
    except BaseException:
        with suppress(storage.StorageError):
            _delete(location, written, before, _current(location))
        raise
    if before is not None:
        _delete(location, before.files, found)
    return found


def _revision(record: IndexRecord) -> tuple[int, tuple[StoredShard, ...]]:
    """What tells revisions apart: two that were written at once may have the same number."""
    return record.revision, record.shards


def _changed_meanwhile(location: Location) -> RunConflict:
    return RunConflict(f"{location} was changed meanwhile by another command; repeat the command")


def _next_revision(
    location: Location,
    record: IndexRecord,
    before: IndexRecord | None,
    shards: Iterable[Shard],
    concepts: tuple[str, ...],
    written: list[StoredFile],
) -> IndexRecord:
    """The record of the shards after their files are stored; those that are new are added to `written`."""
    stored, held = [], dict[str, int]()
    for shard in shards:
        known = before is not None and shard.stored in before.shards
        stored.append(shard.stored if known and shard.stored is not None else _store(location, shard, written))
        held |= sizes(shard.tensors)
    if not stored:
        raise DatasetError("there is nothing to find: no item has any feature that the model takes")
    return replace(
        record,
        num_items=sum(shard.num_items for shard in stored),
        sizes=dict(sorted(held.items())),
        shards=tuple(stored),
        concepts=concepts,
        revision=1 if before is None else before.revision + 1,
    )


def _delete(location: Location, files: Iterable[StoredFile], *kept: IndexRecord | None) -> None:
    """Delete those of the files that none of the revisions `kept` has."""
    stay = {file.file for record in kept if record is not None for file in record.files}
    for file in files:
        if file.file not in stay:
            storage.delete_file(location / file.file)


def _current(location: Location) -> IndexRecord | None:
    """The record of an index that this code reads; None for an older or damaged one, which is replaced as a whole."""
    try:
        return load_record(location)
    except (DatasetError, storage.StorageError):
        return None


def _store(location: Location, shard: Shard, written: list[StoredFile]) -> StoredShard:
    files: dict[str, StoredFile] = {}
    for name, array in {**shard.tensors, KEYS: shard.lookup.keys, ORDER: shard.lookup.order}.items():
        files[name] = store_array(location, name, array)
        written.append(files[name])
    parts = {ITEMS: ("arrow", shard.items.to_bytes()), CANDIDATES: ("faiss", shard.candidates)}
    for name, (suffix, content) in parts.items():
        if content is not None:
            files[name] = store(location, name, suffix, content)
            written.append(files[name])
    return StoredShard(len(shard.items), files)


def load_index(location: Location, part: int = 0, parts: int = 1) -> VideoIndex:
    """The index at `location`, or the shards of one of `parts` parts; DatasetError where it is missing or damaged.

    The hashes of its files are checked, but for local vectors of more than LARGEST_HASHED bytes.
    """
    whole = load_record(location)
    first, end = (len(whole.shards) * bound // parts for bound in (part, part + 1))
    chosen = whole.shards[first:end]
    found = replace(whole, shards=chosen, num_items=sum(shard.num_items for shard in chosen))
    try:
        shards = tuple(_load(location, found, shard) for shard in chosen)
        scores = found.sizes.get("concept", 0)
        if len(found.concepts) != scores:
            raise ValueError(f"it names {len(found.concepts)} concepts and scores {scores}")
    except DatasetError:
        raise
    except Exception as error:  # whatever the parsers meet in a file that someone else made
        raise damaged(location, error) from error
    return VideoIndex(found, shards, found.concepts)


def _load(location: Location, record: IndexRecord, stored: StoredShard) -> Shard:
    buffers = {name: read(location / file.file, file) for name, file in stored.files.items()}
    candidates, items = buffers.pop(CANDIDATES, None), Items.from_buffer(pa.py_buffer(buffers.pop(ITEMS)))
    arrays = {name: as_array(buffer) for name, buffer in buffers.items()}
    lookup = Lookup(arrays.pop(KEYS), arrays.pop(ORDER))
    _check_rows({**arrays, KEYS: lookup.keys, ORDER: lookup.order}, len(items), stored.num_items)
    found = sizes(arrays)
    if not found or not found.items() <= record.sizes.items():
        raise ValueError(f"its tensors have the sizes {found}, its record says {record.sizes}")
    return Shard(arrays, items, lookup, candidates, stored)


def _check_rows(arrays: Mapping[str, np.ndarray], items: int, expected: int) -> None:
    rows = {name: len(array) for name, array in arrays.items()}
    if set(rows.values()) != {items} or items != expected:
        raise ValueError(f"it lists {items} items of {expected}, its tensors hold {rows}")


def modalities(tensors: Mapping[str, np.ndarray]) -> list[str]:
    """The names of the vectors of a joint space among the tensors, one for each modality."""
    return [name for name in sizes(tensors) if f"has_{name}" in tensors]


def sizes(tensors: Mapping[str, np.ndarray]) -> dict[str, int]:
    """The dimensions of the matrices among the tensors, by name."""
    return {name: int(tensor.shape[1]) for name, tensor in tensors.items() if tensor.ndim == 2}
