"""Reading of a Parquet shard; all bytes are verified against checksums."""

import hashlib
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from types import TracebackType

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from vtr_core.data.shard_record import Shard
from vtr_core.data.shards.plain_pages import (
    LONGEST_HEADER,
    Checksum,
    PageFault,
    has_cells,
    plain_cells,
    plain_values,
    value_bytes,
)
from vtr_core.data.shards.scatter import Scatter, read_scattered
from vtr_core.errors import DatasetError
from vtr_core.storage import Location

_TAIL = 2**16
"""Bytes of the first read at a file's end, more than most footers have."""
_GAP = 2**16
"""Columns with gaps up to this number of bytes are read together."""
_END = 8
"""The footer's length (4 bytes) and PAR1."""
_CAN_SCATTER = hasattr(os, "preadv")
"""Whether the system fills several pieces of memory by one read, as Linux does."""
_STRETCH = 2**12
"""Bytes of a stretch of rows, on average, from which on reading each into its place is faster than copying rows."""


class DamagedShard(DatasetError):
    """A shard is missing, or differs from the written one."""


@dataclass(frozen=True)
class _Run:
    """A range of bytes of the file, read together."""

    begin: int
    end: int


class ShardFile:
    """Context that reads row groups of `shard` at `location`. Raises DamagedShard."""

    def __init__(self, location: Location, shard: Shard) -> None:
        self._location, self._shard = location, shard

    def __enter__(self) -> "ShardFile":
        try:
            self._source = self._location.filesystem.open_input_file(self._location.path)
        except FileNotFoundError as error:
            raise DamagedShard(
                f"{self._location} is missing though the manifest lists it; restore or rebuild it"
            ) from error
        except OSError as error:
            raise self._damaged(error) from error
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        self._source.close()

    def plain(self, group: int, names: Sequence[str]) -> dict[str, np.ndarray]:
        """The values of fixed-width columns of a row group as bytes, (bytes,) uint8 each; others are left out."""
        with self._naming_faults(group):
            sizes = self._value_bytes(group, names)
            columns = {name: self._column(group, name) for name in sizes}
            return {name: plain_values(chunk, sizes[name]) for name, chunk in self._chunks(columns).items()}

    def scatters(self, group: int, name: str, scatter: Scatter) -> bool:
        """Whether `scatter` reads a column, and faster than `plain`: wide rows in long stretches of a local file."""
        if not (
            _CAN_SCATTER and self._location.is_local and pa.types.is_fixed_size_binary(self._types.get(name, pa.null()))
        ):
            return False
        with self._naming_faults(group):
            return self._value_bytes(group, [name]).get(name, 0) >= _STRETCH * len(scatter.stretches)

    def scatter(self, group: int, name: str, scatter: Scatter, targets: Sequence[np.ndarray]) -> None:
        """Read rows of a plain column of a local file straight into `targets`, (rows, width) uint8, contiguous."""
        with self._naming_faults(group):
            column, size = self._column(group, name), self._value_bytes(group, [name])[name]
            begin, length = column.data_page_offset, column.total_compressed_size - size
            with open(self._location.path, "rb", buffering=0) as file:
                header = os.pread(file.fileno(), max(0, min(length, LONGEST_HEADER + 1)), begin)
                read_scattered(file.fileno(), begin + length, scatter, targets, Checksum(header, size))

    def decoded(self, group: int, names: Sequence[str]) -> dict[str, pa.Array]:
        """Columns of a row group, of any type, as contiguous Arrow arrays."""
        with self._naming_faults(group):
            cells = self._chunks({name: self._column(group, name) for name in names if self._has_cells(group, name)})
            found = {name: plain_cells(chunk, self.rows(group)) for name, chunk in cells.items()}
            others = [name for name in names if name not in found]
            if others:
                file = pq.ParquetFile(self._source, metadata=self.metadata, page_checksum_verification=True)
                table = file.read_row_group(group, others, use_threads=False)
                found |= {name: _whole(table.column(name)) for name in others}
            return {name: found[name] for name in names}

    def rows(self, group: int) -> int:
        """The number of rows of a row group."""
        return self.metadata.row_group(group).num_rows

    def arrow_type(self, name: str) -> pa.DataType:
        """The type of a column."""
        return self._types[name]

    @cached_property
    def metadata(self) -> pq.FileMetaData:
        """The file's footer."""
        with self._naming_faults():
            footer = self._footer()
            if hashlib.sha256(footer).hexdigest() != self._shard.footer_sha256:
                raise PageFault("its footer does not match its checksum")
            return pq.read_metadata(pa.BufferReader(footer))

    def _footer(self) -> bytes:
        size = self._source.size()
        if size != self._shard.bytes:
            raise PageFault(f"it has {size} bytes, its manifest says {self._shard.bytes}")
        tail = self._source.read_at(min(size, _TAIL), max(0, size - _TAIL))
        length = int.from_bytes(tail[-_END:-4], "little") + _END
        if length > size:
            raise PageFault("its footer is damaged")
        return tail[-length:] if length <= len(tail) else self._source.read_at(length, size - length)

    def _column(self, group: int, name: str) -> pq.ColumnChunkMetaData:
        return self.metadata.row_group(group).column(self._index(name))

    def _value_bytes(self, group: int, names: Sequence[str]) -> dict[str, int]:
        """The size in bytes of the values of each column that is one uncompressed PLAIN page."""
        schema = self.metadata.schema
        sizes = {name: value_bytes(self._column(group, name), schema.column(self._index(name))) for name in names}
        return {name: size for name, size in sizes.items() if size is not None}

    def _has_cells(self, group: int, name: str) -> bool:
        """Whether a column is one uncompressed PLAIN page of byte strings."""
        schema = self.metadata.schema.column(self._index(name))
        return self._types[name] == pa.binary() and has_cells(self._column(group, name), schema)

    def _index(self, name: str) -> int:
        """The position of a column; for nested ones that of its first leaf."""
        if name not in self._columns:
            raise PageFault(f"it has no column {name}")
        return self._columns[name]

    @cached_property
    def _columns(self) -> Mapping[str, int]:
        paths = [self.metadata.schema.column(index).path for index in range(self.metadata.num_columns)]
        return {path.partition(".")[0]: index for index, path in reversed(list(enumerate(paths)))}

    @cached_property
    def _types(self) -> Mapping[str, pa.DataType]:
        schema = self.metadata.schema.to_arrow_schema()
        return dict(zip(schema.names, schema.types, strict=True))

    def _chunks(self, columns: Mapping[str, pq.ColumnChunkMetaData]) -> dict[str, np.ndarray]:
        """The bytes of column chunks; adjacent ones are read together."""
        places = {n: _Run(c.data_page_offset, c.data_page_offset + c.total_compressed_size) for n, c in columns.items()}
        held = {run: self._read(run) for run in _runs(list(places.values()))}
        return {name: _part(held, place) for name, place in places.items()}

    def _read(self, run: _Run) -> np.ndarray:
        self._source.seek(run.begin)
        content = np.frombuffer(self._source.read_buffer(run.end - run.begin), np.uint8)
        if len(content) != run.end - run.begin:
            raise PageFault("it ends too early")
        return content

    @contextmanager
    def _naming_faults(self, group: int | None = None) -> Iterator[None]:
        """Context that converts errors into a DamagedShard with their position."""
        try:
            yield
        except (PageFault, pa.ArrowException, OSError) as error:
            raise self._damaged(error, group) from error

    def _damaged(self, error: Exception, group: int | None = None) -> DamagedShard:
        where = "" if group is None else f", row group {group}"
        return DamagedShard(
            f"{self._location} (sha256 {self._shard.sha256[:12]}…{where}) cannot be read: "
            f"{' '.join(str(error).split())}; restore or rebuild it"
        )


def _runs(places: Sequence[_Run]) -> list[_Run]:
    """The ranges merged across small gaps."""
    runs: list[_Run] = []
    for place in sorted(places, key=lambda p: p.begin):
        if runs and place.begin - runs[-1].end <= _GAP:
            runs[-1] = _Run(runs[-1].begin, max(place.end, runs[-1].end))
        else:
            runs.append(place)
    return runs


def _part(held: Mapping[_Run, np.ndarray], place: _Run) -> np.ndarray:
    run = next(run for run in held if run.begin <= place.begin and place.end <= run.end)
    return held[run][place.begin - run.begin : place.end - run.begin]


def _whole(column: pa.ChunkedArray) -> pa.Array:
    return column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()
