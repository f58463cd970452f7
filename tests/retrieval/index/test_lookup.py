"""Positions by id are those that going through all items finds, also where hashes collide."""

import numpy as np
import pytest

from vtr_core.retrieval.index.index import Lookup
from vtr_core.retrieval.index.items import Item, Items


@pytest.mark.parametrize("hashes", [2**63, 3, 1], ids=["distinct", "some collide", "all collide"])
def test_every_item_is_found_where_it_lies(hashes: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("vtr_core.retrieval.index.index.key64", lambda text: hash(text) % hashes)
    monkeypatch.setattr("vtr_core.retrieval.index.index._AT_ONCE", 4)
    names = [f"clip{number}" for number in np.random.default_rng(0).permutation(11)]
    items = Items.of(Item(name, "v") for name in names)
    lookup = Lookup.of(items)
    assert np.all(np.diff(lookup.keys) >= 0)
    assert [lookup.find(name, items) for name in names] == list(range(11))
    assert lookup.find("clip11", items) is None


def test_no_item_is_found_among_none() -> None:
    items = Items.of([])
    assert Lookup.of(items).find("a", items) is None
