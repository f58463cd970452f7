"""The files of an index, mapped into memory, and the positions of items by id."""

import hashlib
import io
import mmap
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Int64

from vtr_core import storage
from vtr_core.errors import DatasetError
from vtr_core.fingerprint import key64
from vtr_core.retrieval.index.items import Item, Items
from vtr_core.retrieval.index.record import StoredFile, damaged
from vtr_core.storage import Location

LARGEST_HASHED = 64 * 2**20
"""Local vectors of more bytes are checked by their size alone, so that opening does not read them."""


def store_array(location: Location, name: str, tensor: np.ndarray) -> StoredFile:
    """Write a tensor as `.npy`, in pieces of its memory."""
    header = io.BytesIO()
    array = np.ascontiguousarray(tensor)
    np.lib.format.write_array_header_1_0(header, np.lib.format.header_data_from_array_1_0(array))
    return store(location, name, "npy", header.getvalue(), array.reshape(-1).view(np.uint8).data)


def store(location: Location, name: str, suffix: str, *parts: bytes | memoryview) -> StoredFile:
    """Write a file named after its content."""
    digest = hashlib.sha256()
    for part in parts:
        digest.update(part)
    stored = StoredFile(f"{name}-{digest.hexdigest()[:16]}.{suffix}", sum(map(len, parts)), digest.hexdigest())
    with storage.open_for_writing(location / stored.file) as sink:
        for part in parts:
            sink.write(part)
    return stored


def read(location: Location, stored: StoredFile) -> memoryview:
    """A file's bytes, mapped where it is local, copied on writing; DatasetError where they are not those stored."""
    if not storage.exists(location):
        raise DatasetError(f"{location} is missing though the index lists it; run vtr index again")
    if location.is_local:
        with open(location.path, "rb") as file:
            content = memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY))
    else:
        content = memoryview(bytearray(storage.read_bytes(location)))
    if len(content) != stored.bytes:
        raise damaged(location, f"it has {len(content)} bytes, not {stored.bytes}")
    trusted = location.is_local and location.name.endswith(".npy") and len(content) > LARGEST_HASHED
    if not trusted and hashlib.sha256(content).hexdigest() != stored.sha256:
        raise damaged(location, "its sha256 differs")
    return content


def as_array(content: memoryview) -> np.ndarray:
    """The array of a `.npy` file as a view of its bytes; ValueError for another layout."""
    head = io.BytesIO(content[: 2**16])
    np.lib.format.read_magic(head)
    shape, fortran, dtype = np.lib.format.read_array_header_1_0(head)
    if fortran or dtype.hasobject:
        raise ValueError("an array has another layout")
    values = np.frombuffer(content, dtype, offset=head.tell())
    return values.reshape(shape)


_AT_ONCE = 65_536


@dataclass(frozen=True)
class Lookup:
    """The hashes of the items' ids, ascending, and the position of each."""

    keys: Int64[np.ndarray, " items"]
    order: Int64[np.ndarray, " items"]

    @classmethod
    def of(cls, items: Items) -> "Lookup":
        """The lookup of a table of items."""
        batches = items.table.select(["item_id"]).to_batches(_AT_ONCE)
        keys = [np.array([key64(text) for text in batch.column(0).to_pylist()], np.int64) for batch in batches]
        found = np.concatenate([np.zeros(0, np.int64), *keys])
        order = np.argsort(found, kind="stable").astype(np.int64)
        return cls(found[order], order)

    def find(self, item_id: str, items: Sequence[Item]) -> int | None:
        """The position of the item with this id, None where there is none; items: those that the lookup is of."""
        key = np.int64(key64(item_id))
        first, end = np.searchsorted(self.keys, key), np.searchsorted(self.keys, key, "right")
        held = (int(position) for position in self.order[first:end])
        return next((position for position in held if items[position].item_id == item_id), None)
