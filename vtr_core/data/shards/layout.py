"""What a shard's footer says: its columns' types, and where each row group's values lie."""

from functools import lru_cache
from typing import NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

from vtr_core.data.shards.plain_pages import PageFault, has_cells, value_bytes

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
