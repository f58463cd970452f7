"""How fast batches come, once they come steadily, and how long the first one takes."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from time import perf_counter
from typing import TypeVar

T = TypeVar("T")


@dataclass(frozen=True)
class Timing:
    """Rows delivered in so many seconds, and the seconds before the first batch was there."""

    rows: int
    steps: int
    seconds: float
    first_batch_s: float

    @property
    def rate(self) -> float:
        """Rows per second."""
        return self.rows / self.seconds


def timed(batches: Iterator[T], rows_of: Callable[[T], int], seconds: float, warm_up: int) -> Timing:
    """Take `warm_up` batches, then count what comes in about `seconds`, at least one batch.

    The clock starts and stops at the arrival of a batch. The warm-up empties what was made ahead while the consumer was
    not yet there, so what counts is what the loader makes in that time.
    """
    began = perf_counter()
    for arrived in range(max(warm_up, 1)):
        next(batches)
        if arrived == 0:
            first = perf_counter() - began
    rows, steps, start = 0, 0, perf_counter()
    while (elapsed := perf_counter() - start) < seconds or not steps:
        rows += rows_of(next(batches))
        steps += 1
    elapsed = perf_counter() - start
    return Timing(rows, steps, elapsed, first)
