"""Pages of a Parquet file: where they lie, as views of their values, and read straight into batches."""

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from isal import isal_zlib
from jaxtyping import Int64, UInt8

_DATA_PAGE = 0
_I32_AFTER_PREVIOUS = 0x15
"""Thrift's compact protocol: a field of type i32 whose number is one more than that of the field before."""
LONGEST_HEADER = 64
_WIDTHS = {"INT32": 4, "INT64": 8, "FLOAT": 4, "DOUBLE": 8}
_LENGTH = 4
"""Bytes of the length before a cell of bytes."""
_MAX_OFFSET = 2**31
"""Bytes from which on Arrow's 32-bit offsets do not suffice."""


def value_bytes(column: pq.ColumnChunkMetaData, schema: pq.ColumnSchema) -> int | None:
    """The size in bytes of a chunk's values if it is one uncompressed PLAIN page; None where it must be decoded."""
    if not _is_plain(column, schema):
        return None
    match column.physical_type:
        case "FIXED_LEN_BYTE_ARRAY":
            return column.num_values * schema.length
        case "BOOLEAN":
            return -(-column.num_values // 8)
        case kind:
            return column.num_values * _WIDTHS[kind] if kind in _WIDTHS else None


def has_cells(column: pq.ColumnChunkMetaData, schema: pq.ColumnSchema) -> bool:
    """Whether `plain_cells` reads a chunk."""
    fits = column.total_compressed_size < _MAX_OFFSET
    return fits and column.physical_type == "BYTE_ARRAY" and _is_plain(column, schema)


def _is_plain(column: pq.ColumnChunkMetaData, schema: pq.ColumnSchema) -> bool:
    optional = schema.max_definition_level or schema.max_repetition_level
    return not (optional or column.has_dictionary_page or column.compression != "UNCOMPRESSED")


class PageFault(Exception):
    """A damaged chunk: page, header or checksum do not match."""


def plain_values(chunk: np.ndarray, size: int) -> np.ndarray:
    """The last `size` bytes of a chunk, verified to be its only page and to have the checksum of its header.

    chunk: (bytes,) uint8. Raises PageFault.
    """
    header, values = chunk[: len(chunk) - size], chunk[len(chunk) - size :]
    checksum = Checksum(header.tobytes(), size)
    checksum.add(values)
    checksum.compare()
    return values


def plain_cells(chunk: np.ndarray, rows: int) -> pa.BinaryArray:
    """The cells of a chunk of `rows` byte strings, verified as by `plain_values`.

    chunk: (bytes,) uint8. Raises PageFault.
    """
    size = _numbers(chunk[:LONGEST_HEADER].tobytes(), 2)[1]
    values = plain_values(chunk, min(max(size, 0), len(chunk)))
    offsets, position = [0], 0
    for _ in range(rows):
        length = int.from_bytes(values[position : position + _LENGTH].tobytes(), "little")
        position += _LENGTH + length
        if position > len(values):
            raise PageFault("a page has fewer cells than rows")
        offsets.append(offsets[-1] + length)
    if position != len(values):
        raise PageFault("a page has more cells than rows")
    data = pa.allocate_buffer(offsets[-1])
    joined = np.frombuffer(data, np.uint8)
    for lengths, (first, end) in enumerate(pairwise(offsets), start=1):
        joined[first:end] = values[_LENGTH * lengths + first : _LENGTH * lengths + end]
    ends = pa.py_buffer(np.array(offsets, np.int32))
    return pa.BinaryArray.from_buffers(pa.binary(), rows, [None, ends, data])


class Checksum:
    """The checksum of a plain page, over its values as they are read, against the one in its header.

    header: the bytes before the page's `size` bytes of values. Raises PageFault where the chunk is not that page.
    """

    def __init__(self, header: bytes, size: int) -> None:
        if not 0 < len(header) <= LONGEST_HEADER:
            raise PageFault("a column is not one plain page")
        kind, plain_size, stored_size, stated = _numbers(header, 4)
        if (kind, plain_size, stored_size) != (_DATA_PAGE, size, size):
            raise PageFault("a page's header is damaged")
        self._stated, self._found = stated % 2**32, 0

    def add(self, values: np.ndarray | memoryview) -> None:
        """Add the next values, contiguous in memory."""
        self._found = isal_zlib.crc32(values, self._found)

    def compare(self) -> None:
        """After all values: PageFault where they are not the written ones."""
        if self._found != self._stated:
            raise PageFault("a page does not match its checksum")


def _numbers(header: bytes, count: int) -> list[int]:
    """The first `count` fields of a header, 32-bit integers each (zigzag varints)."""
    numbers, position = [], 0
    for _ in range(count):
        if position >= len(header) or header[position] != _I32_AFTER_PREVIOUS:
            raise PageFault("a page's header is damaged")
        value, shift, position = 0, 0, position + 1
        while position < len(header):
            byte = header[position]
            value, shift, position = value | (byte & 127) << shift, shift + 7, position + 1
            if byte < 128:
                break
        numbers.append(value >> 1 ^ -(value & 1))
    return numbers


_MOST_KEPT = 256
"""Parsed footers that are kept, those used last: a footer is needed once for each of its row groups."""


class Chunk(NamedTuple):
    """A row group's part of a column."""

    begin: int
    """Its first byte in the file."""
    length: int
    """In bytes, with the headers of pages."""
    value_bytes: int | None
    """The size of its values if they have a fixed width and are one uncompressed PLAIN page."""
    has_cells: bool
    """Whether it is one uncompressed PLAIN page of byte strings."""

    @property
    def end(self) -> int:
        """The first byte after it."""
        return self.begin + self.length


class ShardLayout:
    """The columns and row groups of a shard."""

    def __init__(self, footer: bytes) -> None:
        """`footer` ends with the file's last byte. Raises pa.ArrowException where Parquet cannot read it."""
        self.metadata = pq.read_metadata(pa.BufferReader(footer))
        schema = self.metadata.schema.to_arrow_schema()
        self._types = dict(zip(schema.names, schema.types, strict=True))
        paths = [self.metadata.schema.column(index).path for index in range(self.metadata.num_columns)]
        self._columns = {path.partition(".")[0]: index for index, path in reversed(list(enumerate(paths)))}
        self._chunks: dict[tuple[int, str], Chunk] = {}

    def rows(self, group: int) -> int:
        """The number of rows of a row group."""
        return self.metadata.row_group(group).num_rows

    def arrow_type(self, name: str) -> pa.DataType:
        """The type of a column. Raises PageFault where there is none of this name."""
        if name not in self._types:
            raise PageFault(f"it has no column {name}")
        return self._types[name]

    def chunk(self, group: int, name: str) -> Chunk:
        """A row group's part of a column, of nested ones the first leaf's. Raises PageFault like `arrow_type`."""
        if (group, name) not in self._chunks:
            kind, index = self.arrow_type(name), self._columns[name]
            found, schema = self.metadata.row_group(group).column(index), self.metadata.schema.column(index)
            cells = kind == pa.binary() and has_cells(found, schema)
            begin, length = found.data_page_offset, found.total_compressed_size
            self._chunks[group, name] = Chunk(begin, length, value_bytes(found, schema), cells)
        return self._chunks[group, name]


@lru_cache(_MOST_KEPT)
def layout_of(footer: bytes) -> ShardLayout:
    """The layout by a shard's footer; equal footers have one in common."""
    return ShardLayout(footer)


_PIECE = 2**18
"""Bytes that are read at once, few enough to stay in a core's cache until their checksum is computed."""
_BUFFERS = 256
"""Pieces of memory that are filled at once; Linux allows 1024."""


@dataclass(frozen=True)
class Stretch:
    """Rows `first` to `last` of a column, which are the rows from `offset` on of target `target`; None: of none."""

    first: int
    last: int
    target: int | None = None
    offset: int = 0


class Scatter:
    """Which rows of a column go where: row `rows[i][j]` of `total` is row j of target i.

    A row may be wanted by several targets, or several times.
    """

    def __init__(self, rows: Sequence[Int64[np.ndarray, " _"]], total: int) -> None:
        wanted = np.concatenate(rows)
        assert wanted.max() < total, "a plan names rows that its row group does not have"
        order = np.argsort(wanted, kind="stable")
        self._total, self._row = total, wanted[order]
        lengths = np.array(list(map(len, rows)))
        self._target = np.repeat(np.arange(len(rows)), lengths)[order]
        self._offset = order - np.repeat(np.cumsum(lengths) - lengths, lengths)[order]
        self._new = np.concatenate([[True], self._row[1:] != self._row[:-1]])
        self._again = np.flatnonzero(~self._new).tolist()
        self.stretches = list(self._stretches())

    def _stretches(self) -> Iterator[Stretch]:
        """All rows of the column, in order."""
        row, target, offset = self._row[self._new], self._target[self._new], self._offset[self._new]
        breaks = np.flatnonzero((np.diff(row) != 1) | (np.diff(target) != 0) | (np.diff(offset) != 1)) + 1
        begins, ends = [0, *breaks.tolist()], [*breaks.tolist(), len(row)]
        done = 0
        for begin, end in zip(begins, ends, strict=True):
            first = int(row[begin])
            if first > done:
                yield Stretch(done, first)
            done = first + end - begin
            yield Stretch(first, done, int(target[begin]), int(offset[begin]))
        if done < self._total:
            yield Stretch(done, self._total)

    def repeat(self, targets: Sequence[np.ndarray]) -> None:
        """Copy rows that are wanted several times from their first target to the others."""
        for again in self._again:  # the one before has the same row
            row = targets[self._target[again - 1]][self._offset[again - 1]]
            targets[self._target[again]][self._offset[again]] = row


def read_scattered(
    descriptor: int,
    offset: int,
    scatter: Scatter,
    targets: Sequence[UInt8[np.ndarray, "_ width"]],
    checksum: Checksum,
) -> None:
    """Read a column's rows, which begin at byte `offset`, into the targets, which are contiguous.

    Raises PageFault where the file ends too early or the checksum differs; what the targets then hold is undefined.
    """
    for pieces, size in _together(_memory(scatter, targets)):
        _fill(descriptor, offset, pieces.copy(), size)
        offset += size
        for piece in pieces:
            checksum.add(piece)
    checksum.compare()
    scatter.repeat(targets)


def _memory(scatter: Scatter, targets: Sequence[np.ndarray]) -> Iterator[tuple[memoryview | None, int]]:
    """The bytes of every stretch, in pieces: their memory, None for those that are dropped, and their number."""
    width, flat = targets[0].shape[1], [target.reshape(-1).data for target in targets]
    for stretch in scatter.stretches:
        size, memory, first = (stretch.last - stretch.first) * width, None, 0
        if stretch.target is not None:
            memory, first = flat[stretch.target], stretch.offset * width
        for begin in range(0, size, _PIECE):
            length = min(_PIECE, size - begin)
            yield (None if memory is None else memory[first + begin : first + begin + length]), length


def _together(pieces: Iterable[tuple[memoryview | None, int]]) -> Iterator[tuple[list[memoryview], int]]:
    """The memory of consecutive pieces that are read at once, and its bytes.

    Dropped pieces share memory with those of other turns.
    """
    dropped = memoryview(bytearray(_PIECE))
    held: list[memoryview] = []
    bytes_held = bytes_dropped = 0
    for memory, size in pieces:
        if held and (bytes_held + size > _PIECE or len(held) == _BUFFERS):
            yield held, bytes_held
            held, bytes_held, bytes_dropped = [], 0, 0
        if memory is None:
            memory = dropped[bytes_dropped : bytes_dropped + size]
            bytes_dropped += size
        held.append(memory)
        bytes_held += size
    if held:
        yield held, bytes_held


def _fill(descriptor: int, offset: int, pieces: list[memoryview], size: int) -> None:
    """Fill all pieces, of `size` bytes together, from `offset` on; a read may end before they are full."""
    while size:
        count = os.preadv(descriptor, pieces, offset)
        if count == 0:
            raise PageFault("it ends too early")
        offset, size = offset + count, size - count
        if not size:
            return
        while count >= len(pieces[0]):
            count -= len(pieces.pop(0))
        pieces[0] = pieces[0][count:]
