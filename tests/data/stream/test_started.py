"""What has started fetches its first item by itself, and is closed whenever that is possible."""

from collections.abc import Generator
from threading import Event

import pytest

from vtr_core.data.stream.reading import Started

SECONDS = 60
"""For what happens at once."""


class Items:
    """A generator of 0, 1, 2 that tells when it begins, waits before its first item, and tells when it is closed."""

    def __init__(self) -> None:
        self.begun, self.go_on, self.closed = Event(), Event(), Event()

    def __call__(self) -> Generator[int, None, None]:
        self.begun.set()
        self.go_on.wait(SECONDS)
        try:
            yield from range(3)
        finally:
            self.closed.set()


def test_it_begins_before_it_is_asked_and_leaves_nothing_out() -> None:
    items = Items()
    started = Started(items())
    assert items.begun.wait(SECONDS)
    items.go_on.set()
    assert list(started) == [0, 1, 2]


def test_nothing_is_empty() -> None:
    assert list(Started(number for number in ())) == []


def test_closing_does_not_wait_for_the_first_item_and_closes_behind_it() -> None:
    items = Items()
    started = Started(items())
    assert items.begun.wait(SECONDS)
    started.close()
    assert not items.closed.is_set()
    items.go_on.set()
    assert items.closed.wait(SECONDS)


def test_closing_in_the_middle() -> None:
    items = Items()
    items.go_on.set()
    started = Started(items())
    assert next(iter(started)) == 0
    started.close()
    assert items.closed.is_set()


def test_an_error_of_the_first_item_is_raised_where_it_is_asked_for() -> None:
    def fails() -> Generator[int, None, None]:
        yield 1 // 0

    started = Started(fails())
    with pytest.raises(ZeroDivisionError):
        next(iter(started))
    started.close()
