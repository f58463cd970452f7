"""The warning of ties, which every validation of a training would repeat: told once, and counted."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager

from vtr_core.metrics import ranking

_RANKING = logging.getLogger(ranking.__name__)
_log = logging.getLogger(__name__)


class _First(logging.Filter):
    """Lets the first record pass, if any may, and keeps the last of the others."""

    def __init__(self, tells: bool) -> None:
        super().__init__()
        self._tells, self.held_back = tells, 0
        self.last: logging.LogRecord | None = None

    def filter(self, record: logging.LogRecord) -> bool:
        """Whether it is the first."""
        if self._tells and self.last is None:
            self.last = record
            return True
        self.last, self.held_back = record, self.held_back + 1
        return False


@contextmanager
def ties_told_once(tells: bool) -> Iterator[None]:
    """Within it metrics warn of ties once, and at its end the number of repetitions is logged; nothing unless `tells`.

    One worker of a run tells, since all of them compute the same metrics.
    """
    first = _First(tells)
    _RANKING.addFilter(first)
    try:
        yield
    finally:
        _RANKING.removeFilter(first)
    if tells and first.last is not None and first.held_back:
        _log.warning("such ties %d times more; the last: %s", first.held_back, first.last.getMessage())
