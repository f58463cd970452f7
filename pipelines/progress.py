"""Progress of work that takes a while: a bar with rate and time left on a terminal, lines in a log."""

import sys
import time
from collections.abc import Callable
from types import TracebackType

from rich.console import Console
from rich.progress import BarColumn, Progress, ProgressColumn, Task
from rich.text import Text

FIRST_S, LONGEST_S = 10.0, 600.0
"""Seconds before the first line of a log, and the most between two; each wait is twice the one before."""


class Meter:
    """Tells how far `total` units are, in a with-statement: a bar below the output where that is a terminal.

    Elsewhere a line after ten seconds, later ones ever more rarely, and one when all is done. The time left is
    estimated from the first units on, without the start of processes before them. unit: in the plural, such as
    "videos"; already: units that were done before, which say nothing of the rate; clock: in seconds; under_way: the
    work has begun already, so that all time from here on counts.
    """

    def __init__(
        self,
        total: int,
        unit: str,
        already: int = 0,
        clock: Callable[[], float] = time.monotonic,
        under_way: bool = False,
    ) -> None:
        self._total, self._unit, self._already, self._clock = total, unit, already, clock
        self._begun, self._wait = clock(), FIRST_S
        self._due = self._begun + self._wait
        self._first = (already, self._begun) if under_way else None
        self._is_told = False
        self._bar = _bar() if sys.stdout.isatty() else None

    def __enter__(self) -> "Meter":
        if self._bar is not None:
            self._bar.add_task("", total=self._total, completed=self._already, line=self._unit)
            self._bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bar is not None:
            self._bar.stop()

    def tell(self, done: int, remark: str = "") -> None:
        """So many units are done; remark: what else there is to say of them, such as how many were dropped."""
        now = self._clock()
        text = progress_line(done, self._total, self._unit, self._rate(done, now), remark)
        if self._bar is not None:
            self._bar.update(self._bar.task_ids[0], completed=done, line=text)
        elif not self._is_told and (done >= self._total or now >= self._due):
            self._is_told = done >= self._total
            self._wait = min(2 * self._wait, LONGEST_S)
            self._due = now + self._wait
            print(f"  {text}", flush=True)

    def _rate(self, done: int, now: float) -> float | None:
        """Units a second: since the first ones were told, at the end of all; None where nothing can be said yet."""
        if done >= self._total:
            return max(done - self._already, 1) / max(now - self._begun, 1e-9)
        if self._first is None:
            self._first = done, now
        count, since = self._first
        return (done - count) / max(now - since, 1e-9) if done > count else None


def progress_line(done: int, total: int, unit: str, rate: float | None, remark: str = "") -> str:
    """Count, rate and time left; rate: units a second, None where it is not known yet."""
    known = [] if rate is None else [f"{_figures(rate)} a second"]
    left = [] if rate is None or done >= total else [f"{duration((total - done) / rate)} left"]
    return "; ".join([f"{done:,} of {total:,} {unit}", *known, *([remark] if remark else []), *left])


def duration(seconds: float) -> str:
    """For people: 40 s, 12 min, 3.5 h, 2.1 days."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    if seconds < 5400:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.1f} h" if seconds < 36 * 3600 else f"{seconds / 86400:.1f} days"


def _figures(rate: float) -> str:
    return f"{rate:,.0f}" if rate >= 100 else f"{rate:.1f}" if rate >= 1 else f"{rate:.2g}"


def _bar() -> Progress:
    return Progress(BarColumn(bar_width=24), _Line(), console=Console(file=sys.stdout), transient=True)


class _Line(ProgressColumn):
    """The line of a task as it was last told."""

    def render(self, task: Task) -> Text:
        """As plain text, whatever it holds."""
        return Text(str(task.fields["line"]))
