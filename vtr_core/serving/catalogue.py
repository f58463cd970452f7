"""The items of a served index: by id, by column, and as pictures."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from jaxtyping import Int64

from vtr_core.data.records.schema import kept_column
from vtr_core.data.shards.thumbnails import Thumbnails
from vtr_core.retrieval.explain.frames import Picture, read_pictures
from vtr_core.retrieval.index.items import Item, Items
from vtr_core.retrieval.search.filters import Condition, meeting

_TOLD = ("caption", "video_id", "start", "end")
_PICTURES, _FILTERS, _OFFERED = 512, 64, 50


@dataclass(frozen=True)
class Column:
    """A column that can be filtered by."""

    name: str
    values: tuple[str, ...] | None
    """Its values in order; None where they are too many to choose from."""


class Catalogue:
    """The items of an index; thread-safe. thumbnails: of the data set, where it is still there."""

    def __init__(self, items: Sequence[Item], thumbnails: Thumbnails | None) -> None:
        self.items = items if isinstance(items, Items) else Items.of(items)
        ids = self.items.table.column("item_id").to_pylist()
        self._position = {item_id: position for position, item_id in enumerate(ids)}
        self.picture = lru_cache(_PICTURES)(lambda item_id: _picture(item_id, thumbnails))
        self._meeting = lru_cache(_FILTERS)(lambda filters: meeting(self.items, filters))

    def position(self, item_id: str) -> int | None:
        """The position of an item; None for an id that is not in the index."""
        return self._position.get(item_id)

    @cached_property
    def columns(self) -> tuple[Column, ...]:
        """The columns that the index has values of, those that ingest kept first."""
        table = self.items.table
        kept = [name for name in table.column_names if name.startswith(kept_column(""))]
        known = [name for name in (*kept, *_TOLD) if table.column(name).null_count < len(table)]
        return tuple(_column(table, name) for name in known)

    def chosen(self, filters: tuple[Condition, ...]) -> Int64[np.ndarray, " chosen"] | None:
        """The ascending positions of the items that meet all conditions, see `meeting`."""
        return self._meeting(filters)


def _column(table: pa.Table, name: str) -> Column:
    values = pc.unique(table.column(name).drop_null())
    offered = pa.types.is_string(values.type) and len(values) <= _OFFERED
    return Column(name.removeprefix(kept_column("")), tuple(sorted(values.to_pylist())) if offered else None)


def _picture(item_id: str, thumbnails: Thumbnails | None) -> Picture:
    return read_pictures(None, [item_id], thumbnails)[item_id]
