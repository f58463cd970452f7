"""The items of a served index: by id, by column, and as pictures."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache, reduce

import numpy as np
import pyarrow.compute as pc
from jaxtyping import Int64

from vtr_core.data.records.schema import kept_column
from vtr_core.data.shards.thumbnails import Thumbnails
from vtr_core.errors import InputError
from vtr_core.retrieval.explain.frames import Picture, read_pictures
from vtr_core.retrieval.index.items import Item, Items

Filters = tuple[tuple[str, str], ...]
"""Columns, and the value that an item must have in each, as text."""
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
        prefix = kept_column("")
        kept = [name for name in self.items.table.column_names if name.startswith(prefix)]
        self._columns = {"video_id": "video_id", **{name.removeprefix(prefix): name for name in kept}}
        self.picture = lru_cache(_PICTURES)(lambda item_id: _picture(item_id, thumbnails))
        self._matching = lru_cache(_FILTERS)(self._look_through)

    def position(self, item_id: str) -> int | None:
        """The position of an item; None for an id that is not in the index."""
        return self._position.get(item_id)

    def columns(self) -> tuple[Column, ...]:
        """The columns with their values."""
        found = []
        for name, stored in self._columns.items():
            values = pc.unique(self.items.table.column(stored).fill_null(""))
            offered = tuple(sorted(values.to_pylist())) if len(values) <= _OFFERED else None
            found.append(Column(name, offered))
        return tuple(found)

    def chosen(self, filters: Filters) -> Int64[np.ndarray, " chosen"] | None:
        """The ascending positions of the items that pass all filters; None without filters, which is all of them.

        InputError for a column that there is not.
        """
        for name, _ in filters:
            if name not in self._columns:
                raise InputError(f"there is no column {name!r} to filter by; there are {', '.join(self._columns)}")
        found = [self._matching(name, value) for name, value in filters]
        return reduce(np.intersect1d, found) if found else None

    def _look_through(self, name: str, value: str) -> Int64[np.ndarray, " chosen"]:
        column = self.items.table.column(self._columns[name]).fill_null("")
        return np.flatnonzero(pc.equal(column, value).to_numpy()).astype(np.int64)


def _picture(item_id: str, thumbnails: Thumbnails | None) -> Picture:
    return read_pictures(None, [item_id], thumbnails)[item_id]


def parse_filters(words: Sequence[str]) -> Filters:
    """The filters `column=value`; InputError for a word that is none."""
    found = [word.partition("=") for word in words]
    for name, equals, _ in found:
        if not name or not equals:
            raise InputError(f"{name!r} is no filter; write column=value")
    return tuple(sorted((name, value) for name, _, value in found))
