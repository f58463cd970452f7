"""The items of a served index: by id, by column, and as pictures."""

from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from jaxtyping import Int64

from vtr_core.data.records.schema import kept_column
from vtr_core.retrieval.explain.frames import KeyFrames, Picture, read_pictures
from vtr_core.retrieval.index.index import VideoIndex
from vtr_core.retrieval.search.filters import Condition, meeting

_TOLD = ("caption", "video_id", "start", "end")
_PICTURES, _FILTERS, _OFFERED, _READ = 512, 64, 50, 4096


@dataclass(frozen=True)
class Column:
    """A column that can be filtered by."""

    name: str
    values: tuple[str, ...] | None
    """Its values in order; None where they are too many to choose from."""


class Catalogue:
    """The items of an index; thread-safe. thumbnails: their pictures, where there are any."""

    def __init__(self, index: VideoIndex, thumbnails: KeyFrames | None) -> None:
        self.items, self.index = index.items, index
        self.picture = lru_cache(_PICTURES)(lambda item_id: _picture(item_id, thumbnails))
        self._meeting = lru_cache(_FILTERS)(lambda filters: meeting(self.items, filters))

    def position(self, item_id: str) -> int | None:
        """The position of an item; None for an id that is not in the index."""
        return self.index.position(item_id)

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
    values = _few(table.column(name)) if pa.types.is_string(table.column(name).type) else None
    return Column(name.removeprefix(kept_column("")), None if values is None else tuple(sorted(values)))


def _few(column: pa.ChunkedArray) -> set[str] | None:
    """The distinct texts of a column; None as soon as they are too many to choose from."""
    found = set[str]()
    for first in range(0, len(column), _READ):
        found |= set(pc.unique(column.slice(first, _READ).drop_null()).to_pylist())
        if len(found) > _OFFERED:
            return None
    return found


def _picture(item_id: str, thumbnails: KeyFrames | None) -> Picture:
    return read_pictures(None, [item_id], thumbnails)[item_id]
