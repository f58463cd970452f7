"""The times of frames put in order, where a container has them wrong."""

import heapq
from collections import deque
from collections.abc import Iterator
from typing import Generic, TypeVar

T = TypeVar("T")
DEPTH = 4
"""Frames that are held back; no more of them are reordered in formats without presentation times."""


class OrderedTimes(Generic[T]):
    """Gives frames, which come in order of presentation, the smallest of the times that are not given yet.

    AVI has the times of decoding alone, which MPEG-4's bidirectional frames carry out of order.
    """

    def __init__(self) -> None:
        self._held: deque[T] = deque()
        self._times: list[float] = []

    def add(self, frame: T, time: float) -> Iterator[tuple[T, float]]:
        """The frames that are due with `frame`, each with its time."""
        self._held.append(frame)
        heapq.heappush(self._times, time)
        while len(self._held) > DEPTH:
            yield self._next()

    def rest(self) -> Iterator[tuple[T, float]]:
        """What is held back at the end."""
        while self._held:
            yield self._next()

    def _next(self) -> tuple[T, float]:
        return self._held.popleft(), heapq.heappop(self._times)
