"""An iteration that begins before it is asked for its first item."""

from collections.abc import Generator, Iterator
from concurrent.futures import Future
from itertools import islice
from threading import Thread
from typing import Generic, TypeVar

T = TypeVar("T")


class Started(Generic[T]):
    """The items of a generator, the first of which a thread fetches from now on."""

    def __init__(self, items: Generator[T, None, None]) -> None:
        self._items, self._first = items, Future[list[T]]()
        Thread(target=self._begin, name="first-item", daemon=True).start()

    def _begin(self) -> None:
        try:
            self._first.set_result(list(islice(self._items, 1)))
        except BaseException as error:
            self._first.set_exception(error)

    def __iter__(self) -> Iterator[T]:
        """All items, once. An error of the first one is raised here."""
        yield from self._first.result()
        yield from self._items

    def close(self) -> None:
        """Closes the generator, at once or as soon as its first item is there; does not wait."""
        self._first.add_done_callback(lambda _: self._items.close())
