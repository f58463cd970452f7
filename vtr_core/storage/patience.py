"""Retries of operations on a store: exponential back-off with full jitter, within a time limit."""

import logging
import random
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from vtr_core.patience import S3
from vtr_core.storage.fault import Fault, StorageError

logger = logging.getLogger(__name__)
T = TypeVar("T")


@dataclass(frozen=True)
class Patience:
    """Retry policy: the delay before retry n = 0, 1, … is uniform on [0, min(longest, first · 2ⁿ)] seconds.

    Attempts that would begin later than `seconds` after the first one are not made.
    """

    seconds: float
    first_s: float = 0.2
    longest_s: float = 8.0
    draw: Callable[[], float] = random.random
    """Draws from the uniform distribution on [0, 1)."""
    sleep: Callable[[float], None] = time.sleep
    now: Callable[[], float] = time.monotonic

    def delay(self, attempt: int) -> float:
        """Seconds to wait before retry number `attempt`."""
        return self.draw() * min(self.longest_s, self.first_s * 2 ** min(attempt, 60))


def given_patience() -> Patience:
    """The policy with the time limit VTR_S3_PATIENCE_S in seconds, by default 120."""
    return Patience(S3.seconds())


def persist(
    operation: Callable[[], T],
    judge: Callable[[Exception], Fault | None],
    give_up: Callable[[Fault, float], StorageError],
    patience: Patience,
    what: str,
) -> T:
    """The result of `operation`, retried while `judge` finds a transient fault and time is left.

    Exceptions in which `judge` finds no fault propagate. Other faults, and transient ones at the time limit, raise
    `give_up(fault, seconds spent)`.
    """
    begun = patience.now()
    attempt = 0
    while True:
        try:
            return operation()
        except Exception as error:
            fault = judge(error)
            if fault is None:
                raise
        spent = patience.now() - begun
        delay = patience.delay(attempt)
        if not fault.is_transient or spent + delay > patience.seconds:
            # The cause is not shown: it may quote keys or signed URLs.
            raise give_up(fault, spent) from None
        if attempt == 0:
            logger.warning("%s: %s; trying again for %.0f s", what, fault.code, patience.seconds)
        patience.sleep(delay)
        attempt += 1
