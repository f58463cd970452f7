"""Shards of any record kind: one Parquet file of bounded row groups that hold whole videos, hashed as it is written."""

import hashlib
import io
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, BinaryIO, TypeVar

import pyarrow as pa
import pyarrow.parquet as pq

from vtr_core.data.manifest import Shard
from vtr_core.data.records.schema import Schema
from vtr_core.fingerprint import key64
from vtr_core.storage import Location, etag, open_for_writing
from vtr_core.text.tokens.vocabulary import tokenise

MAX_GROUP_ROWS = 1000
MAX_GROUP_BYTES = 32 * 2**20
"""Limits of a row group, in rows and bytes of features, unless a single video exceeds them; training holds several at
once."""

V = TypeVar("V")


@dataclass(frozen=True)
class GroupSize:
    """The size of a row group, or of one video in it."""

    rows: int
    bytes: int

    def __add__(self, other: "GroupSize") -> "GroupSize":
        return GroupSize(self.rows + other.rows, self.bytes + other.bytes)

    @property
    def fits(self) -> bool:
        """Whether a row group may be as large."""
        return self.rows <= MAX_GROUP_ROWS and self.bytes <= MAX_GROUP_BYTES


@dataclass(frozen=True)
class GroupTable:
    """One row group to be: its rows, and how many of them each of its videos has, in row order."""

    table: pa.Table
    counts: tuple[int, ...]


def row_groups(videos: Iterable[V], size: Callable[[V], GroupSize]) -> Iterator[list[V]]:
    """`videos` in order, cut into the longest groups that fit; a video that does not fit alone is a group."""
    group: list[V] = []
    total = GroupSize(0, 0)
    for video in videos:
        added = size(video)
        if group and not (total + added).fits:
            yield group
            group, total = [], GroupSize(0, 0)
        group.append(video)
        total += added
    if group:
        yield group


def write_shard(schema: Schema, groups: Iterable[GroupTable], location: Location) -> Shard:
    """Write row groups to `location`; the file is there whole or not at all."""
    counts: list[tuple[int, ...]] = []
    with open_for_writing(location) as sink:
        hashing = _HashingSink(sink)
        with pq.ParquetWriter(hashing, schema.arrow(), **_LAYOUT) as writer:
            for group in groups:
                writer.write_table(group.table, row_group_size=2**31 - 1)
                counts.append(group.counts)
                hashing.row_group_ended()
    rows = sum(map(sum, counts))
    digest, footer = hashing.digest.hexdigest(), hashing.footer.hexdigest()
    return Shard(location.name, rows, hashing.size, digest, footer, tuple(counts), etag(location))


_LAYOUT = {
    "compression": "none",
    "use_dictionary": ["video_id"],
    "write_statistics": False,
    "write_page_checksum": True,
    "data_page_size": 2**30,
    "max_rows_per_page": 2**30,
}
"""Uncompressed, without dictionaries on features, a page for each column of a row group: what lies in the file is the
values themselves (see `plain_pages`), with a checksum."""


def caption_key(caption: str) -> int:
    """Equal for captions of equal words: the 64-bit hash of its tokens."""
    return key64(" ".join(tokenise(caption)))


class _HashingSink(io.RawIOBase):
    """A binary sink that counts and hashes what is written to another one, and does not close it."""

    def __init__(self, sink: BinaryIO) -> None:
        self._sink = sink
        self.digest = hashlib.sha256()
        self.footer = hashlib.sha256()
        self.size = 0

    def write(self, data: Any) -> int:
        """Pass `data` on."""
        self.digest.update(data)
        self.footer.update(data)
        self._sink.write(data)
        written = memoryview(data).nbytes
        self.size += written
        return written

    def row_group_ended(self) -> None:
        """The footer is what comes after the last row group."""
        self.footer = hashlib.sha256()

    def tell(self) -> int:
        """Bytes written so far."""
        return self.size

    def writable(self) -> bool:
        """True."""
        return True
