"""Positions of items by id, from mapped files: no table of ids is held in memory."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Int64

from vtr_core.fingerprint import key64
from vtr_core.retrieval.index.items import Item, Items

_AT_ONCE = 65_536


@dataclass(frozen=True)
class Lookup:
    """The hashes of the items' ids, ascending, and the position of each."""

    keys: Int64[np.ndarray, " items"]
    order: Int64[np.ndarray, " items"]

    @classmethod
    def of(cls, items: Items) -> "Lookup":
        """The lookup of a table of items."""
        batches = items.table.select(["item_id"]).to_batches(_AT_ONCE)
        keys = [np.array([key64(text) for text in batch.column(0).to_pylist()], np.int64) for batch in batches]
        found = np.concatenate([np.zeros(0, np.int64), *keys])
        order = np.argsort(found, kind="stable").astype(np.int64)
        return cls(found[order], order)

    def find(self, item_id: str, items: Sequence[Item]) -> int | None:
        """The position of the item with this id, None where there is none; items: those that the lookup is of."""
        key = np.int64(key64(item_id))
        first, end = np.searchsorted(self.keys, key), np.searchsorted(self.keys, key, "right")
        held = (int(position) for position in self.order[first:end])
        return next((position for position in held if items[position].item_id == item_id), None)
