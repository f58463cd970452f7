"""Reordering of frame times in containers that store decoding times."""

import heapq
from collections import deque
from collections.abc import Iterator
from typing import Generic, TypeVar

T = TypeVar("T")
DEPTH = 4
"""Frames in the reordering buffer, the largest reordering in formats without presentation times."""


class OrderedTimes(Generic[T]):
    """Assigns to frames, which arrive in presentation order, the smallest unassigned time.

    AVI stores decoding times only, which are out of order with MPEG-4's bidirectional frames.
    """

    def __init__(self) -> None:
        self._held: deque[T] = deque()
        self._times: list[float] = []

    def add(self, frame: T, time: float) -> Iterator[tuple[T, float]]:
        """Add `frame`; yields the frames that leave the buffer, each with its time."""
        self._held.append(frame)
        heapq.heappush(self._times, time)
        while len(self._held) > DEPTH:
            yield self._next()

    def rest(self) -> Iterator[tuple[T, float]]:
        """The frames left in the buffer at the end."""
        while self._held:
            yield self._next()

    def _next(self) -> tuple[T, float]:
        return self._held.popleft(), heapq.heappop(self._times)
