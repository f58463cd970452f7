"""Writing of shards of any record kind: a Parquet file with bounded row groups of whole videos, hashed on writing."""

import hashlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, TypeVar

import pyarrow as pa
import pyarrow.parquet as pq

from vtr_core.data.records.schema import Schema
from vtr_core.data.shard_record import Shard
from vtr_core.fingerprint import key64
from vtr_core.storage import Location, etag, open_for_writing
from vtr_core.storage.hashing import HashingSink, Sink
from vtr_core.text.tokens.vocabulary import tokenise

MAX_GROUP_ROWS = 1000
MAX_GROUP_BYTES = 32 * 2**20
"""Limits of a row group, in rows and bytes of features, unless a single video exceeds them; training keeps several in
memory."""

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
        """Whether the size is within the limits of a row group."""
        return self.rows <= MAX_GROUP_ROWS and self.bytes <= MAX_GROUP_BYTES


@dataclass(frozen=True)
class GroupTable:
    """A row group to write: its rows, and the number of rows of each of its videos, in row order."""

    table: pa.Table
    counts: tuple[int, ...]


def row_groups(videos: Iterable[V], size: Callable[[V], GroupSize]) -> Iterator[list[V]]:
    """`videos` in order, divided greedily into groups that fit; a video that exceeds the limits is a separate group."""
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
    """Write row groups to `location`, atomically."""
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
"""Parquet options: uncompressed, features without dictionaries, one page with checksum per column of a row group, so
that the file contains the plain values (see `plain_pages`)."""


def caption_key(caption: str) -> int:
    """The 64-bit hash of the caption's words."""
    return key64(" ".join(tokenise(caption)))


class _HashingSink(HashingSink):
    """Also hashes what was written after the last row group: the footer."""

    def __init__(self, sink: Sink) -> None:
        super().__init__(sink)
        self.footer = hashlib.sha256()

    def write(self, data: Any) -> int:
        """Write `data` to the underlying sink."""
        self.footer.update(data)
        return super().write(data)

    def row_group_ended(self) -> None:
        """Mark the end of a row group; the footer follows the last one."""
        self.footer = hashlib.sha256()
