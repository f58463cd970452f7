"""Training speed and the share of time spent waiting for data, between two logged points."""

import time
from collections.abc import Iterator
from contextlib import contextmanager


class Meter:
    """Counts steps of `rows` rows each, and how long they waited for data."""

    def __init__(self, rows: int) -> None:
        self._rows = rows
        self._reset()

    def _reset(self) -> None:
        self._begin = time.perf_counter()
        self._waited = 0.0
        self._steps = 0

    @contextmanager
    def waiting(self) -> Iterator[None]:
        """Time within this context counts as waiting for data."""
        begin = time.perf_counter()
        yield
        self._waited += time.perf_counter() - begin

    def elapsed(self) -> float:
        """Seconds since the last reading."""
        return time.perf_counter() - self._begin

    def step(self) -> None:
        """Count a step as done."""
        self._steps += 1

    def read(self) -> dict[str, float]:
        """Rows per second of the whole job and the share of time spent waiting, since the last reading."""
        elapsed = self.elapsed()
        rate, share = self._steps * self._rows / elapsed, self._waited / elapsed
        self._reset()
        return {"train/samples_per_s": rate, "train/data_wait": share}
