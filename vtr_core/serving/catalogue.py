"""The items of a served index: by id, by column, and as pictures."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache, reduce

import numpy as np
from jaxtyping import Int64

from vtr_core.data.shards.thumbnails import Thumbnails
from vtr_core.errors import InputError
from vtr_core.retrieval.explain.frames import Picture, read_pictures
from vtr_core.retrieval.index.index import Item

Filters = tuple[tuple[str, str], ...]
"""Columns, and the value that an item must have in each, as text."""
_PICTURES, _COLUMNS, _OFFERED = 512, 16, 50


@dataclass(frozen=True)
class Column:
    """A column that can be filtered by."""

    name: str
    values: tuple[str, ...] | None
    """Its values in order; None where they are too many to choose from."""


def columns_of(item: Item) -> Mapping[str, str]:
    """What an item can be filtered by."""
    return {"video_id": item.video_id}


class Catalogue:
    """The items of an index; thread-safe. thumbnails: of the data set, where it is still there."""

    def __init__(self, items: Sequence[Item], thumbnails: Thumbnails | None) -> None:
        self.items = tuple(items)
        self._position = {item.item_id: position for position, item in enumerate(self.items)}
        self._places = lru_cache(_COLUMNS)(self._look_through)
        self.picture = lru_cache(_PICTURES)(lambda item_id: _picture(item_id, thumbnails))

    def position(self, item_id: str) -> int | None:
        """The position of an item; None for an id that is not in the index."""
        return self._position.get(item_id)

    def names(self) -> tuple[str, ...]:
        """The names of the columns, which all items have."""
        return tuple(columns_of(self.items[0])) if self.items else ()

    def columns(self) -> tuple[Column, ...]:
        """The columns with their values."""
        found = {name: tuple(sorted(self._places(name))) for name in self.names()}
        return tuple(Column(name, values if len(values) <= _OFFERED else None) for name, values in found.items())

    def chosen(self, filters: Filters) -> Int64[np.ndarray, " chosen"] | None:
        """The ascending positions of the items that pass all filters; None without filters, which is all of them.

        InputError for a column that there is not.
        """
        for name, _ in filters:
            if name not in self.names():
                raise InputError(f"there is no column {name!r} to filter by; there are {', '.join(self.names())}")
        none = np.zeros(0, np.int64)
        found = [self._places(name).get(value, none) for name, value in filters]
        return reduce(np.intersect1d, found) if found else None

    def _look_through(self, name: str) -> Mapping[str, Int64[np.ndarray, " chosen"]]:
        places: dict[str, list[int]] = {}
        for position, item in enumerate(self.items):
            places.setdefault(columns_of(item)[name], []).append(position)
        return {value: np.asarray(positions, np.int64) for value, positions in places.items()}


def _picture(item_id: str, thumbnails: Thumbnails | None) -> Picture:
    return read_pictures(None, [item_id], thumbnails)[item_id]


def parse_filters(words: Sequence[str]) -> Filters:
    """The filters `column=value`; InputError for a word that is none."""
    found = [word.partition("=") for word in words]
    for name, equals, _ in found:
        if not name or not equals:
            raise InputError(f"{name!r} is no filter; write column=value")
    return tuple(sorted((name, value) for name, _, value in found))
