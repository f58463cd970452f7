"""Arrow and Parquet files of strangers, read in memory that is in proportion to their bytes.

Both formats can say a gigabyte in a kilobyte: by compression, dictionaries, runs of one value, and parts of a file that
several columns share. What a reader would take is counted before, from what the file says in the places that the
reader believes, too: the headers of Parquet's pages (github.com/apache/parquet-format, parquet.thrift), and the
metadata of Arrow's messages (Message.fbs).
"""

import struct
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

_SLACK = 2**26
"""Bytes that every file may take: absent cells of one size lie in memory, and not in the file."""
_RATIO, COMPRESSED = 4, 256
"""Bytes that a byte of an uncompressed file may give, and one of a file of numbers that its writer compressed."""
_LARGEST_PAGE = 2**27
"""Bytes of a page; writers make pages of 1 to 100 MiB."""
_DICTIONARY = 2**28
"""Bytes that the texts of a row group may take whose writer made a dictionary of them."""
_BATCH_BYTES, _BATCH_ROWS = 2**26, 1024
_HEADER, _LONGEST_HEADER = 2**10, 2**20
_WIDTHS = {"BOOLEAN": 1, "INT32": 4, "INT64": 8, "INT96": 12, "FLOAT": 4, "DOUBLE": 8}
_DATA, _DICTIONARY_PAGE, _DATA_2 = 0, 2, 3
_PLAIN, _BY_DICTIONARY = 0, (2, 8)


def read_uncompressed(content: pa.Buffer, expected: Callable[[pa.Schema], pa.Schema]) -> pa.Table:
    """The table of an Arrow IPC file, without a copy; expected: the schema that a file of these columns has to have.

    ArrowInvalid for another schema (dictionaries among them) and for compressed buffers. It is read from its beginning,
    message by message: a list of them at its end is not needed.
    """
    if content.size < 8 or content.slice(0, 6).to_pybytes() != b"ARROW1":
        raise pa.ArrowInvalid("it is no file of Arrow")
    messages = pa.ipc.MessageReader.open_stream(pa.BufferReader(content.slice(8)))
    schema = pa.ipc.read_schema(messages.read_next_message())
    if not schema.equals(expected(schema)):
        raise pa.ArrowInvalid(f"its columns are {', '.join(map(str, schema))}")
    batches = []
    for message in _rest(messages):
        if message.type != "record batch" or _is_compressed(message.metadata.to_pybytes()):
            raise pa.ArrowInvalid(f"a {message.type} is compressed, or of no kind that is read")
        batches.append(pa.ipc.read_record_batch(message, schema))
    return pa.Table.from_batches(batches, schema)


def _rest(messages: Any) -> Iterator[Any]:
    while True:
        try:
            yield messages.read_next_message()
        except StopIteration:
            return


def _is_compressed(metadata: bytes) -> bool:
    """Whether the metadata of a record batch, a flatbuffer, has RecordBatch.compression."""
    message = _u32(metadata, 0)
    batch = _field(metadata, message, 2)
    return batch == 0 or _field(metadata, batch + _u32(metadata, batch), 3) != 0


def _field(metadata: bytes, table: int, number: int) -> int:
    """Where a table's field lies; 0 where it is absent."""
    vtable = table - struct.unpack_from("<i", metadata, table)[0]
    place = 4 + 2 * number
    if vtable < 0 or place + 2 > struct.unpack_from("<H", metadata, vtable)[0]:
        return 0
    offset: int = struct.unpack_from("<H", metadata, vtable + place)[0]
    return table + offset if offset else 0


def _u32(metadata: bytes, place: int) -> int:
    value: int = struct.unpack_from("<I", metadata, place)[0]
    return value


def check_parquet(
    source: pa.NativeFile,
    metadata: pq.FileMetaData,
    groups: Iterable[int],
    names: Collection[str] | None = None,
    ratio: int = _RATIO,
) -> None:
    """ArrowInvalid where the columns `names` (None: all) of row groups would take more than `ratio` bytes a byte.

    Compressed files have to be of numbers alone, and need the ratio COMPRESSED. Of columns of texts, binary cells and
    lists the headers of the pages are read, a request each on an object store; of numbers and cells of one size nothing
    is.
    """
    size = source.size()
    left = ratio * size + _SLACK
    for group in groups:
        for chunk, width in _chunks(metadata, group, names):
            left -= _decoded(source, metadata.row_group(group).num_rows, chunk, width, ratio)
            if left < 0:
                raise pa.ArrowInvalid(f"its columns are more than {ratio} times its {size} bytes")


@dataclass(frozen=True)
class _Chunk:
    """A column of a row group."""

    name: str
    column: Any
    nested: bool


def _chunks(
    metadata: pq.FileMetaData, group: int, names: Collection[str] | None
) -> Iterator[tuple[_Chunk, int | None]]:
    """The columns of a row group, with the bytes of a value; None for those of texts and binary cells."""
    row_group = metadata.row_group(group)
    for number in range(row_group.num_columns):
        column, kind = row_group.column(number), metadata.schema.column(number)
        name = kind.path.partition(".")[0]
        if names is None or name in names:
            fixed = kind.length if kind.physical_type == "FIXED_LEN_BYTE_ARRAY" else _WIDTHS.get(kind.physical_type)
            yield _Chunk(name, column, kind.max_repetition_level > 0), fixed


def _decoded(source: pa.NativeFile, rows: int, chunk: _Chunk, width: int | None, ratio: int) -> int:
    """Bytes of a column's values in memory, at most; texts that a dictionary gives are counted by themselves."""
    plain = chunk.column.compression == "UNCOMPRESSED"
    if not plain and (ratio < COMPRESSED or width is None):
        raise pa.ArrowInvalid(f"{chunk.name} is compressed")
    if plain and width is not None and not chunk.nested:
        return rows * width
    pages = list(_pages(source, chunk.column))
    if width is not None:
        return sum(page.values * width + (0 if plain else page.size) for page in pages) + (rows * width)
    plain_bytes = sum(page.size for page in pages if page.kind != _DICTIONARY_PAGE and page.encoding == _PLAIN)
    listed = [page for page in pages if page.kind != _DICTIONARY_PAGE and page.encoding != _PLAIN]
    if any(page.encoding not in _BY_DICTIONARY for page in listed) or (chunk.nested and listed):
        raise pa.ArrowInvalid(f"{chunk.name} is written in a way that is not read")
    if sum(page.values for page in pages) > plain_bytes + rows + sum(page.size for page in pages):
        raise pa.ArrowInvalid(f"{chunk.name} has more values than bytes")
    if listed:
        dictionary = [page for page in pages if page.kind == _DICTIONARY_PAGE]
        longest = max((_longest_text(source.read_at(page.size, page.place)) for page in dictionary), default=0)
        if longest * rows > _DICTIONARY:
            raise pa.ArrowInvalid(f"{chunk.name} has {rows} times one of {longest} bytes")
    return plain_bytes + 8 * rows


def _longest_text(content: bytes) -> int:
    """The longest of the texts of a dictionary, each behind its length."""
    longest = place = 0
    while place + 4 <= len(content):
        length = _u32(content, place)
        longest, place = max(longest, length), place + 4 + length
    return longest


@dataclass(frozen=True)
class _Page:
    """A page: kind, place of its content, bytes when it is not compressed, number of values and their encoding."""

    kind: int
    place: int
    size: int
    values: int
    encoding: int


def _pages(source: pa.NativeFile, column: Any) -> Iterator[_Page]:
    """The pages of a column, of their headers alone; ArrowInvalid for one that is larger than it may be."""
    if column.num_values == 0:  # no page is read of such a column, and its places say nothing
        return
    place = column.data_page_offset
    if column.has_dictionary_page and 0 < (column.dictionary_page_offset or 0) < place:
        place = column.dictionary_page_offset
    end = min(place + column.total_compressed_size, source.size())
    while 0 <= place < end:
        fields, length = _header(source, place, end)
        kind, size, stored = (_number(fields, number) for number in (1, 2, 3))
        inner = fields.get({_DATA: 5, _DICTIONARY_PAGE: 7, _DATA_2: 8}.get(kind, -1))
        inner = inner if isinstance(inner, dict) else {}
        plain = column.compression == "UNCOMPRESSED"
        if not 0 <= stored <= end - place or not 0 <= size <= (stored if plain else _LARGEST_PAGE):
            raise pa.ArrowInvalid(f"{column.path_in_schema} has a page of {size} bytes")
        encoding = _number(inner, 4 if kind == _DATA_2 else 2)
        yield _Page(kind, place + length, size, max(0, _number(inner, 1)), encoding)
        place += length + stored


def _number(fields: Mapping[int, Any], number: int) -> int:
    """A field that is a number; -1 where it is absent, or something else."""
    value = fields.get(number)
    return value if isinstance(value, int) else -1


def _header(source: pa.NativeFile, place: int, end: int) -> tuple[dict[int, Any], int]:
    """The fields of the header at `place`, and its length."""
    for length in (_HEADER, _LONGEST_HEADER):
        content = source.read_at(min(length, end - place), place)
        try:
            return _struct(content, 0, 0)
        except IndexError:
            continue
    raise pa.ArrowInvalid("the header of a page does not end")


def _struct(content: bytes, place: int, depth: int) -> tuple[dict[int, Any], int]:
    """The integers of 32 bits and the structures in a structure of Thrift's compact protocol, and where it ends."""
    fields: dict[int, Any] = {}
    number = 0
    while True:
        head = content[place]
        place += 1
        kind, step = head & 15, head >> 4
        if kind == 0:
            return fields, place
        if step:
            number += step
        else:
            number, place = _integer(content, place)
        match kind:
            case 1 | 2:
                pass
            case 3:
                place += 1
            case 4 | 5 | 6:
                value, place = _integer(content, place)
                if kind == 5:
                    fields[number] = value
            case 7:
                place += 8
            case 8:
                length, place = _unsigned(content, place)
                place += length
            case 12 if depth < 8:
                fields[number], place = _struct(content, place, depth + 1)
            case _:
                raise pa.ArrowInvalid("the header of a page is damaged")


def _integer(content: bytes, place: int) -> tuple[int, int]:
    value, place = _unsigned(content, place)
    return (value >> 1) ^ -(value & 1), place


def _unsigned(content: bytes, place: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = content[place]
        place += 1
        value |= (byte & 127) << shift
        if byte < 128:
            return value, place
        shift += 7
        if shift > 63:
            raise pa.ArrowInvalid("the header of a page is damaged")


def readable_batches(source: pa.NativeFile) -> Iterator[pa.RecordBatch]:
    """The rows of a Parquet table of whatever writer, some at a time, of its columns that `readable_columns` names.

    Lists of texts come as places in a dictionary, see `cell_values`. ArrowInvalid for a table of more rows than bytes,
    for one that goes on beyond COMPRESSED times its bytes, and for pages larger than writers make them.
    """
    metadata = pq.read_metadata(source)
    if metadata.num_rows > source.size():
        raise pa.ArrowInvalid(f"it says {metadata.num_rows} rows in {source.size()} bytes")
    most = COMPRESSED * source.size() + _DICTIONARY
    schema = metadata.schema.to_arrow_schema()
    names = readable_columns(schema)
    largest = 1
    for group in range(metadata.num_row_groups):
        for chunk, _ in _chunks(metadata, group, names):
            pages = list(_pages(source, chunk.column))
            largest = max([largest, *(page.size for page in pages)])
            if chunk.nested and 8 * sum(page.values for page in pages) > most:
                raise pa.ArrowInvalid(f"{chunk.name} has more values than its bytes can hold")
    rows = max(1, min(_BATCH_ROWS, _BATCH_BYTES // largest))
    lists = [metadata.schema.column(number).path for number in range(metadata.num_columns)]
    lists = [path for path in lists if "." in path and path.partition(".")[0] in names]
    file = pq.ParquetFile(source, metadata=metadata, read_dictionary=lists)
    for batch in file.iter_batches(rows, columns=names, use_threads=False):
        most -= batch.nbytes
        if most < 0:
            raise pa.ArrowInvalid(f"its rows are more than {COMPRESSED} times its {source.size()} bytes")
        yield batch


def cell_values(column: pa.Array) -> list[Any]:
    """The values of a column; a text that lists have many times is one object, however long it is."""
    if not _is_list(column.type):
        values: list[Any] = column.to_pylist()
        return values
    elements = column.flatten()
    texts = elements.dictionary.to_pylist()
    places = iter(elements.indices.to_pylist())
    lengths = column.value_lengths().to_pylist()
    taken = (None if length is None else list(islice(places, length)) for length in lengths)
    return [own and [None if place is None else texts[place] for place in own] for own in taken]


def readable_columns(schema: pa.Schema) -> list[str]:
    """The columns whose cells are single values of at most 32 bytes, texts, or lists of texts."""
    scalars = (
        pa.types.is_primitive,
        pa.types.is_string,
        pa.types.is_large_string,
        pa.types.is_decimal,
        pa.types.is_binary,
        pa.types.is_null,
    )
    values = [field.type.value_type if pa.types.is_dictionary(field.type) else field.type for field in schema]
    return [
        name
        for name, kind in zip(schema.names, values, strict=True)
        if any(is_one(kind) for is_one in scalars)
        or (_is_list(kind) and (pa.types.is_string(kind.value_type) or pa.types.is_large_string(kind.value_type)))
    ]


def _is_list(kind: pa.DataType) -> bool:
    return bool(pa.types.is_list(kind) or pa.types.is_large_list(kind))
