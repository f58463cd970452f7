"""A Parquet shard: hashed on writing, verified on reading, and checked against the manifest."""

import hashlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property, lru_cache
from types import TracebackType
from typing import Any, TypeVar

import pyarrow as pa
import pyarrow.parquet as pq

from vtr_core import storage
from vtr_core.config.data_sets import OnBadShard, joined_uris
from vtr_core.data.manifest import Manifest, Shard
from vtr_core.data.records.schema import Schema
from vtr_core.errors import DatasetError
from vtr_core.fingerprint import key64
from vtr_core.storage import Location, open_for_writing
from vtr_core.storage.bounded_tables import check_parquet
from vtr_core.storage.files import HashingSink
from vtr_core.text.tokens.vocabulary import letter_runs

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


def video_groups(videos: Iterable[V], size: Callable[[V], GroupSize]) -> Iterator[list[V]]:
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
        hashing.footer = hashlib.sha256()
        with pq.ParquetWriter(hashing, schema.arrow(), **_LAYOUT) as writer:
            for group in groups:
                writer.write_table(group.table, row_group_size=2**31 - 1)
                counts.append(group.counts)
                hashing.footer = hashlib.sha256()
    rows = sum(map(sum, counts))
    digest, footer = hashing.digest.hexdigest(), hashing.footer.hexdigest()
    return Shard(location.name, rows, hashing.size, digest, footer, tuple(counts))


_LAYOUT = {
    "compression": "none",
    "use_dictionary": ["video_id"],
    "write_statistics": False,
    "write_page_checksum": True,
    "data_page_size": 2**30,
    "max_rows_per_page": 2**30,
}
"""Parquet options: uncompressed, features without dictionaries, one page with checksum per column of a row group."""


def caption_key(caption: str) -> int:
    """The 64-bit hash of the caption's words; those of scripts without spaces are not parted."""
    return key64(" ".join(letter_runs(caption)))


class _HashingSink(HashingSink):
    """Also hashes what was written since the writer began a new hash, after each row group: at last the footer."""

    footer: Any

    def write(self, data: Any) -> int:
        """Write `data` to the underlying sink."""
        self.footer.update(data)
        return super().write(data)


_TAIL = 2**16
"""Bytes of the first read at a file's end, more than most footers have."""
_END = 8
"""The footer's length (4 bytes) and PAR1."""
_MOST_KEPT = 256
"""Parsed footers that are kept, those used last: a footer is needed once for each of its row groups."""


class DamagedShard(DatasetError):
    """A shard is missing, or differs from the written one."""


class _Fault(Exception):
    """What is wrong with a shard."""


class ShardFile:
    """Context that reads row groups of `shard` at `location` by pyarrow, verified. Raises DamagedShard.

    A core read and verified 72,000 clips of 10 KB a second, memory-mapped 95,000, before headers of pages were looked
    at, too (benchmarks/results/reading.md); the fastest training measured takes 39,000. Files are not mapped: one that
    is cut short meanwhile would end the process.
    """

    def __init__(self, location: Location, shard: Shard) -> None:
        self._location, self._shard = location, shard

    def __enter__(self) -> "ShardFile":
        try:
            self._source = self._location.open_file()
        except FileNotFoundError as error:
            raise DamagedShard(
                f"{self._location} is missing though the manifest lists it; restore or rebuild it"
            ) from error
        except OSError as error:
            raise self._damaged(error) from error
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        self._source.close()

    def rows(self, group: int) -> int:
        """The number of rows of a row group."""
        return self.metadata.row_group(group).num_rows

    def columns(self, group: int, names: Sequence[str]) -> dict[str, pa.Array]:
        """Columns of a row group as contiguous Arrow arrays; the checksum of every page is compared."""
        with self._naming_faults(group):
            missing = set(names) - set(self.metadata.schema.to_arrow_schema().names)
            if missing:
                raise _Fault(f"it has no column {min(missing)}")
            # On an object store the columns that lie side by side are one request.
            buffered = not self._location.is_local
            file = pq.ParquetFile(
                self._source, metadata=self.metadata, page_checksum_verification=True, pre_buffer=buffered
            )
            check_parquet(self._source, self.metadata, [group], names)
            table = file.read_row_group(group, list(names), use_threads=False)
            if table.num_rows != self.rows(group):
                raise _Fault(f"it has {table.num_rows} rows, its footer says {self.rows(group)}")
            return {name: _whole(table.column(name)) for name in names}

    @cached_property
    def metadata(self) -> pq.FileMetaData:
        """What the file's footer says, which is read and verified."""
        with self._naming_faults():
            footer = self._footer()
            if hashlib.sha256(footer).hexdigest() != self._shard.footer_sha256:
                raise _Fault("its footer does not match its checksum")
            return _parsed(footer)

    def _footer(self) -> bytes:
        size = self._source.size()
        if size != self._shard.bytes:
            raise _Fault(f"it has {size} bytes, its manifest says {self._shard.bytes}")
        tail = self._source.read_at(min(size, _TAIL), max(0, size - _TAIL))
        length = int.from_bytes(tail[-_END:-4], "little") + _END
        if length > size:
            raise _Fault("its footer is damaged")
        return tail[-length:] if length <= len(tail) else self._source.read_at(length, size - length)

    @contextmanager
    def _naming_faults(self, group: int | None = None) -> Iterator[None]:
        """Context that converts errors into a DamagedShard with their position."""
        try:
            yield
        except (_Fault, pa.ArrowException, UnicodeDecodeError, OSError) as error:  # pyarrow decodes names itself
            raise self._damaged(error, group) from error

    def _damaged(self, error: Exception, group: int | None = None) -> DamagedShard:
        where = "" if group is None else f", row group {group}"
        return DamagedShard(
            f"{self._location} (sha256 {self._shard.sha256[:12]}…{where}) cannot be read: "
            f"{' '.join(str(error).split())}; restore or rebuild it"
        )


@lru_cache(_MOST_KEPT)
def _parsed(footer: bytes) -> pq.FileMetaData:
    return pq.read_metadata(pa.BufferReader(footer))


def _whole(column: pa.ChunkedArray) -> pa.Array:
    """One array of it; ArrowInvalid for texts that are not UTF-8, which pyarrow reads all the same."""
    array = column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()
    values = array.type.value_type if pa.types.is_list(array.type) else array.type
    if pa.types.is_string(values):
        array.validate(full=True)
    return array


def usable(uri: str, require: Callable[[Schema, str], object], on_bad_shard: OnBadShard = "fail") -> Manifest:
    """The manifest of a data set with all its files, whose schema passes `require`, for instance `require_clips`.

    With "skip" files are not checked here, only when they are read. Raises StorageError where the store cannot be read,
    DatasetError where a file is missing or was replaced, SchemaMismatch from `require`.
    """
    for part in joined_uris(uri):
        storage.check_readable(storage.locate(part))
    manifest = Manifest.load(uri)
    require(manifest.schema, manifest.uri)
    if on_bad_shard == "fail":
        check_files(manifest)
    return manifest


def check_files(manifest: Manifest) -> None:
    """DatasetError for the first shard that is missing or has another size; one listing a folder tells. Contents are
    compared with their checksums when they are read.
    """
    for part in joined_uris(manifest.uri):
        own = manifest if part == manifest.uri else Manifest.load(part)
        sizes = storage.file_sizes(own.location)
        for shard in own.shards:
            place, size = own.location / shard.file, sizes.get(shard.file)
            if size is None:
                raise DatasetError(f"{place} is missing though the manifest lists it; restore or rebuild it")
            if size != shard.bytes:
                raise DatasetError(
                    f"{place} has {size} bytes, its manifest says {shard.bytes} (sha256 {shard.sha256[:12]}…); "
                    "restore or rebuild it"
                )
