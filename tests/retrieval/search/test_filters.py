"""Conditions on an index's columns, against a row-by-row reading of them; and the links of hits."""

import numpy as np
import pyarrow as pa
import pytest

from vtr_core.errors import InputError
from vtr_core.retrieval.index.items import Item, Items
from vtr_core.retrieval.search import filters
from vtr_core.retrieval.search.filters import Condition, meeting, parse_conditions
from vtr_core.retrieval.search.index_search import Hit, link_of

ITEMS = (
    Item("a:0", "a", 0.0, 4.5, "A Dog runs", {"category": "animals", "year": "2014"}),
    Item("a:1", "a", 4.5, 9.0, "a cat", {"category": "animals", "year": "2015.0"}),
    Item("b", "b", None, None, None, {"category": "cooking", "year": ""}),
    Item("c", "c", 1.0, 2.0, "dogs = fun", {"category": "", "year": "about 2016"}),
)


def slowly(item: Item, condition: Condition) -> bool:
    values = {"item_id": item.item_id, "video_id": item.video_id, "caption": item.caption or "", **item.metadata}
    text = str(values.get(condition.name, getattr(item, condition.name, "")))
    try:
        numbers = float(text), float(condition.value)
    except ValueError:
        numbers = None
    match condition.relation:
        case "=":
            return text == condition.value or (numbers is not None and numbers[0] == numbers[1])
        case "!=":
            return not slowly(item, Condition(condition.name, "=", condition.value))
        case "~":
            return condition.value.lower() in text.lower()
        case relation:
            return numbers is not None and eval(f"{numbers[0]} {relation} {numbers[1]}")


@pytest.mark.parametrize(
    "text",
    [
        "category=animals", "category!=animals", "category=", "caption~dog", "caption~=", "year=2015", "year!=2015",
        "year>=2015", "year<2015", "start>=1", "end<=4.5", "start=4.5", "video_id=a", "item_id!=a:0",
        "category= animals ",
    ],
)  # fmt: skip
def test_a_condition_holds_where_a_reading_of_the_rows_says(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also in blocks of two rows."""
    monkeypatch.setattr(filters, "_ROWS", 2)
    conditions = parse_conditions([text])
    expected = [row for row, item in enumerate(ITEMS) if slowly(item, conditions[0])]
    for items in (ITEMS, Items.of(ITEMS)):
        found = meeting(items, conditions)
        assert found is not None
        assert found.tolist() == expected


def test_all_conditions_must_hold() -> None:
    found = meeting(ITEMS, parse_conditions(["category=animals", "caption~cat"]))
    assert found is not None
    assert found.tolist() == [1]
    assert meeting(ITEMS, ()) is None
    assert np.array_equal(meeting(ITEMS, parse_conditions(["year=1900"])), np.zeros(0))


@pytest.mark.parametrize(
    ("text", "fault"),
    [("category", "is no condition"), ("=x", "is no condition"), ("year>soon", "compares numbers, and 'soon' is none")],
)
def test_other_texts_are_refused(text: str, fault: str) -> None:
    with pytest.raises(InputError, match=fault):
        parse_conditions([text])


def test_a_column_that_is_not_there_is_named_with_those_that_are() -> None:
    with pytest.raises(InputError, match=r"no column 'colour' to filter by; it has item_id, .*, category, year"):
        meeting(ITEMS, parse_conditions(["colour=red"]))


def test_links() -> None:
    hit = Hit(1, "a b:1", "a/b", 0.5, start=61.9, end=70.0, metadata={"url": "javascript:alert(1)", "key": "x&y"})
    assert link_of(hit, None) is None
    assert link_of(Hit(1, "a", "a", 0.5, metadata={"link": "https://e.org/?v=1"}), None) == "https://e.org/?v=1"
    assert link_of(hit, "https://e.org/{video_id}?t={start}&k={key}") == "https://e.org/a%2Fb?t=61&k=x%26y"
    assert link_of(Hit(1, "a", "a", 0.5), "{start}-{end}") == "0-0"
    with pytest.raises(InputError, match=r"there is no \{colour\}; names are end, item_id, key, start, url, video_id"):
        link_of(hit, "{colour}")
    assert link_of(hit, "{item_id.__class__}") == "{item_id.__class__}"


def test_filters_that_take_too_long_are_refused() -> None:
    with pytest.raises(InputError, match="take longer than -1 seconds; give fewer"):
        meeting(ITEMS, parse_conditions(["caption~cat"]), within_s=-1)


def test_memory_of_filters_does_not_grow_with_the_index() -> None:
    """A million items, of which one copy of a column as texts is 20 MB."""
    number = 1_000_000
    ids = pa.array(np.arange(number)).cast(pa.string())
    times = pa.array(np.arange(number) + 0.5)
    columns = {"item_id": ids, "video_id": ids, "start": times, "end": times, "caption": ids}
    items = Items(pa.table(columns))
    before, pool = pa.default_memory_pool(), pa.proxy_memory_pool(pa.default_memory_pool())
    pa.set_memory_pool(pool)
    try:
        found = meeting(items, parse_conditions(["start!=7", "start>=0", "caption!=none"]))
    finally:
        pa.set_memory_pool(before)
    assert np.array_equal(found, np.arange(number))
    assert pool.max_memory() < 8_000_000
