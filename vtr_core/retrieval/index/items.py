"""The items of an index, as a table of Arrow that is mapped into memory rather than read."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, overload

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from jaxtyping import Int64

from vtr_core.data.manifest import Manifest
from vtr_core.data.plan import RowGroup, row_groups
from vtr_core.data.reading.row_groups import RowGroupReader
from vtr_core.data.records.schema import ClipSchema, FrameSchema, VideoSchema, kept_column
from vtr_core.storage.bounded_tables import read_uncompressed

_COLUMNS = pa.schema(
    [
        pa.field("item_id", pa.string(), nullable=False),
        pa.field("video_id", pa.string(), nullable=False),
        pa.field("start", pa.float64()),
        pa.field("end", pa.float64()),
        pa.field("caption", pa.string()),
    ]
)
"""Columns of every table of items; the others hold kept columns, see `kept_column`."""
_KEPT = kept_column("")


@dataclass(frozen=True)
class Item:
    """An indexed video, or a clip of one."""

    item_id: str
    video_id: str
    start: float | None = None
    end: float | None = None
    """Start and end of a clip in its video, in seconds."""
    caption: str | None = None
    """The first caption of the item in the data set."""
    metadata: dict[str, str] = field(default_factory=dict)
    """The texts of the columns that ingest kept, see --keep-columns."""


def _expected(schema: pa.Schema) -> pa.Schema:
    """The columns of items, and those of a schema that are kept."""
    kept_names = [name for name in schema.names if name.startswith(_KEPT)]
    return pa.schema([*_COLUMNS, *(pa.field(name, pa.string()) for name in kept_names)])


class Items(Sequence[Item]):
    """The items of an index; an Item is made when it is asked for."""

    def __init__(self, table: pa.Table) -> None:
        """table: the columns of every table of items, and the kept ones; ValueError for others."""
        expected = _expected(table.schema)
        self.table = table.select(expected.names).cast(expected)
        self._kept = [name.removeprefix(_KEPT) for name in expected.names if name.startswith(_KEPT)]

    @classmethod
    def of(cls, items: Iterable[Item]) -> "Items":
        """The table of some items; a text that an item lacks is ""."""
        listed = list(items)
        names = dict.fromkeys(name for item in listed for name in item.metadata)
        columns: dict[str, list[Any]] = {name: [getattr(item, name) for item in listed] for name in _COLUMNS.names}
        texts = {kept_column(name): [item.metadata.get(name, "") for item in listed] for name in names}
        fields = [*_COLUMNS, *(pa.field(name, pa.string()) for name in texts)]
        return cls(pa.table({**columns, **texts}, schema=pa.schema(fields)))

    def __len__(self) -> int:
        return int(self.table.num_rows)

    @overload
    def __getitem__(self, position: int | np.integer) -> Item: ...
    @overload
    def __getitem__(self, position: slice) -> "Items": ...
    def __getitem__(self, position: int | np.integer | slice) -> "Item | Items":
        if isinstance(position, slice):
            return Items(self.table[position])
        return self.at([int(position)])[0]

    def at(self, positions: Sequence[int]) -> list[Item]:
        """The items at these positions; IndexError for one that there is not.

        Read by column, value by value: neither a table for each item nor a copy of all, as Arrow's `take` would be of
        several shards.
        """
        wrong = next((position for position in positions if not 0 <= position < len(self)), None)
        if wrong is not None:
            raise IndexError(f"item {wrong} of {len(self)}")
        names, columns = self.table.column_names, self.table.columns
        values = ([column[position].as_py() for position in positions] for column in columns)
        return [self._item(dict(zip(names, row, strict=True))) for row in zip(*values, strict=True)]

    def __iter__(self) -> Iterator[Item]:
        return (self._item(row) for batch in self.table.to_batches() for row in batch.to_pylist())

    def _item(self, row: dict[str, Any]) -> Item:
        metadata = {name: row[kept_column(name)] or "" for name in self._kept}
        return Item(row["item_id"], row["video_id"], row["start"], row["end"], row["caption"], metadata)

    def to_bytes(self) -> bytes:
        """The table as a file of Arrow IPC."""
        sink = pa.BufferOutputStream()
        with pa.ipc.new_file(sink, self.table.schema) as writer:
            writer.write_table(self.table)
        return bytes(sink.getvalue())

    @classmethod
    def from_buffer(cls, content: pa.Buffer) -> "Items":
        """The inverse of `to_bytes`, without a copy; ValueError for a table of other columns."""
        table = read_uncompressed(content, _expected)
        table.validate(full=True)
        return cls(table)


def described(manifest: Manifest, keys: Int64[np.ndarray, " items"], places: Sequence[RowGroup] | None = None) -> Items:
    """The items with these keys, of clips, or of the videos of a data set of whole videos; texts are of an item's first
    row.

    places: the row groups that hold them (None: all are read). Raises DamagedShard.
    """
    schema = manifest.schema
    assert isinstance(schema, ClipSchema | VideoSchema | FrameSchema), "checked with the model's features"
    kept_names = [kept_column(name) for name in schema.kept] if isinstance(schema, ClipSchema) else []
    column = "caption" if isinstance(schema, ClipSchema) else "captions"
    if isinstance(schema, VideoSchema):
        names = ["video_key", "video_id", column]
    else:
        names = ["clip_key", "video_id", "clip_id", "start", "end", column, *kept_names]
    reader = RowGroupReader(manifest, names)
    table = pa.concat_tables(pa.table(reader.read_arrow(place)) for place in places or row_groups(manifest))
    known = table.column(names[0]).to_numpy()
    order = np.argsort(known, kind="stable")
    return Items(_as_items(table.take(order[np.searchsorted(known, keys, sorter=order)]), column))


def _as_items(rows: pa.Table, column: str) -> pa.Table:
    caption = rows.column(column) if column == "caption" else pc.list_element(rows.column(column), 0)
    unknown = pa.nulls(rows.num_rows, pa.float64())
    held = {name: rows.column(name) for name in rows.column_names}
    columns = {
        "item_id": held.get("clip_id", held["video_id"]),
        "video_id": held["video_id"],
        "start": held.get("start", unknown),
        "end": held.get("end", unknown),
        "caption": caption,
        **{name: values for name, values in held.items() if name.startswith(_KEPT)},
    }
    return pa.table(columns)
