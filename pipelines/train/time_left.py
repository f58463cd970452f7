"""The time left of a training, estimated from the rate of its steps."""

import time
from collections.abc import Callable
from contextlib import ExitStack
from types import TracebackType
from typing import Any

from pipelines.progress import Meter

Report = dict[str, Any]


class TimeLeft:
    """Watches a training's reports, in a with-statement: steps a second and time left, as a bar or as lines.

    The clock starts at the first reported step, so that neither the workers' start, nor what the first steps wait for,
    nor the steps of an earlier part of the run count; after a restart it starts anew.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._stack, self._clock = ExitStack(), clock
        self._meter: Meter | None = None

    def __enter__(self) -> "TimeLeft":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.close()

    def watching(self, take: Callable[[Report], None]) -> Callable[[Report], None]:
        """`take`, with every report that it gets looked at afterwards."""

        def watched(report: Report) -> None:
            take(report)
            self._look(report)

        return watched

    def _look(self, report: Report) -> None:
        match report:
            case {"event": "started" | "resumed" | "restarted"}:
                self._stack.close()
                self._meter = None
            case {"step": int(step), "total_steps": int(total)} if self._meter is None:
                self._meter = self._stack.enter_context(Meter(total, "steps", step, self._clock, under_way=True))
            case {"step": int(step), "total_steps": int(_)} if self._meter is not None:
                self._meter.tell(step)
