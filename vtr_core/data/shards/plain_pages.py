"""Column chunks of a Parquet file that are one uncompressed PLAIN page, as views of their values.

A required column, written without compression and dictionary, consists of a page header and the values. After
verification of its checksum such a chunk of fixed-width values is used in place, without decoding; cells of bytes, each
behind its length in four bytes, are joined. Header: Apache Parquet format, struct PageHeader in Thrift's compact
protocol.
"""

from itertools import pairwise

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from isal import isal_zlib

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
