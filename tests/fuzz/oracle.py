"""What bad input may lead to: success, or a VtrError of one line that names a file. All else is a fault of the code."""

import resource
import signal
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from vtr_core.errors import VtrError

CPU_SECONDS, SECONDS = 60, 600
"""Of the process, and on the clock: a machine may be busy with other things."""
LONGEST_MESSAGE = 1200
MEMORY = 1 << 30
"""Bytes that a case may allocate beyond what the process has."""


class Hang(BaseException):
    """The case took too long."""


@dataclass
class Tally:
    """Outcomes over many cases; `faults` describe what must not happen."""

    succeeded: int = 0
    refused: int = 0
    faults: list[str] = field(default_factory=list)

    def run(self, case: str, action: Callable[[], object], *names: str) -> None:
        """Do `action`; its error must hold one of `names` and be one line."""
        try:
            with _time_limit():
                action()
        except VtrError as error:
            message = str(error)
            if not any(name in message for name in names):
                self.faults.append(f"{case}: the message names no file of the case: {message[:300]!r}")
            elif len(message.splitlines()) != 1 or len(message) > LONGEST_MESSAGE:
                self.faults.append(f"{case}: the message is not one short line: {message[:300]!r}")
            else:
                self.refused += 1
        except Hang:
            self.faults.append(f"{case}: no end after {CPU_SECONDS} s")
        except Exception as error:
            where = "".join(traceback.format_tb(error.__traceback__)[-2:])
            self.faults.append(f"{case}: {type(error).__name__}: {str(error)[:300]}\n{where}")
        else:
            self.succeeded += 1

    def check(self, least: int) -> None:
        """Assert that there were `least` cases at least, no fault among them, and that the mutations bit."""
        assert not self.faults, f"{len(self.faults)} of {self.cases}:\n" + "\n".join(self.faults[:20])
        assert self.cases >= least
        assert self.refused > 0, "no input was refused: the mutations do not reach the code"

    @property
    def cases(self) -> int:
        """All cases run."""
        return self.succeeded + self.refused + len(self.faults)


@contextmanager
def _time_limit() -> Iterator[None]:
    def stop(*_: object) -> None:
        raise Hang

    before = [(kind, signal.signal(kind, stop)) for kind in (signal.SIGPROF, signal.SIGALRM)]
    signal.setitimer(signal.ITIMER_PROF, CPU_SECONDS)
    signal.setitimer(signal.ITIMER_REAL, SECONDS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.setitimer(signal.ITIMER_REAL, 0)
        for kind, handler in before:
            signal.signal(kind, handler)


@contextmanager
def memory_limit(extra: int = MEMORY) -> Iterator[None]:
    """Within it, allocations beyond `extra` bytes fail with MemoryError."""
    with open("/proc/self/statm") as file:
        held = int(file.read().split()[0]) * resource.getpagesize()
    before = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (held + extra, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, before)
