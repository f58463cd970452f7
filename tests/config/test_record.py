"""Records are taken from JSON as it is meant, or refused with the member named."""

from dataclasses import dataclass

import pytest

from vtr_core.config.override import record


@dataclass(frozen=True)
class Point:
    name: str
    count: int
    value: float | None = None
    parts: tuple[int, ...] = ()


def test_a_record_is_what_its_json_says() -> None:
    assert record(Point, {"name": "a", "count": 3, "value": 2, "unknown": 1}) == Point("a", 3, 2.0)
    assert record(Point, {"name": "a", "count": 3, "value": None, "parts": (1, 2)}) == Point("a", 3, None, (1, 2))


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (None, "it is NoneType, not an object of name, count, value, parts"),
        ([], "it is list"),
        ({"name": "a"}, "lacks members.*count"),
        ({"name": "a", "count": 3.0}, "count: .*integer"),
        ({"name": "a", "count": True}, "count: .*integer"),
        ({"name": "a", "count": "3"}, "count: .*integer"),
        ({"name": 1, "count": 3}, "name: .*string"),
        ({"name": "a", "count": 3, "parts": (1, "x")}, "parts: .*integer"),
    ],
)
def test_what_does_not_suit_is_named(value: object, message: str) -> None:
    with pytest.raises(ValueError, match=message) as caught:
        record(Point, value)
    assert "\n" not in str(caught.value)
