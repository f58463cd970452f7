"""The metrics of a run in a JSON-lines file, and sent to a tracker by a thread, each point stored once."""

import logging
import queue
import threading
import time
from collections.abc import Mapping, Sequence
from typing import Any

from vtr_core.patience import MLFLOW
from vtr_core.storage import Location, StorageError
from vtr_core.tracking.json_lines import JsonLines, Line
from vtr_core.tracking.presentation import redact
from vtr_core.tracking.run import Point, TrackedRun, failures

_VALUES_AT_ONCE = 1000
"""Maximum number of values in one call."""


class PointSender:
    """Sends the values that the run does not have yet.

    A step that is repeated after a fault has the same values as before, but another time: the earlier point stays.
    """

    def __init__(self, run: TrackedRun) -> None:
        self._run = run
        self._steps: dict[str, set[int]] = {}

    def send(self, lines: Sequence[Mapping[str, Any]]) -> None:
        """Send lines of `metrics.jsonl`: values by name, with their `step` and their `time` in unix seconds."""
        points = [point for line in lines for point in _points(line) if point.step not in self._known(point.name)]
        for first in range(0, len(points), _VALUES_AT_ONCE):
            part = points[first : first + _VALUES_AT_ONCE]
            self._run.log_points(part)
            for point in part:
                self._known(point.name).add(point.step)

    def _known(self, name: str) -> set[int]:
        """The steps at which the run has a value of `name`, fetched once."""
        if name not in self._steps:
            self._steps[name] = self._run.steps(name)
        return self._steps[name]


def _points(line: Mapping[str, Any]) -> list[Point]:
    time_ms = int(line["time"] * 1000)
    return [Point(name, value, line["step"], time_ms) for name, value in line.items() if name not in ("step", "time")]


logger = logging.getLogger(__name__)
_FIRST_PAUSE_S, _LONGEST_PAUSE_S = 1.0, 60.0


class MetricLog:
    """Appends points to `metrics.jsonl`; a thread sends them to MLflow, in order, and waits while it is unreachable."""

    def __init__(self, location: Location, run: TrackedRun | None, after_step: int = 0) -> None:
        """Drop the points after step `after_step`, left over where a run is resumed from there.

        Of the others those that MLflow lacks are sent.
        """
        self._location = location
        self._lines = JsonLines(location)
        dropped = self._lines.keep(lambda line: _is_point(line) and line["step"] <= after_step)
        self.steps_lost: int = (
            max((line["step"] for line in dropped if _is_point(line)), default=after_step) - after_step
        )
        self._closing = threading.Event()
        self._all_sent = False
        self._points: queue.Queue[Line | None] = queue.Queue()
        self._run = run
        self._thread = threading.Thread(target=self._send, name="metric-sender", daemon=True)
        if run is not None:
            for point in self._lines.read():
                self._points.put(point)
            self._thread.start()

    def add(self, metrics: Mapping[str, float], step: int) -> None:
        """Log the values of one step. A full disk delays the file's lines, not the run."""
        point = {"step": step, "time": time.time(), **metrics}
        self._lines.append(point)
        if self._run is not None:
            self._points.put(point)

    def publish(self) -> None:
        """Write pending points, and update the copy in a remote run folder.

        Raises OSError or StorageError where that cannot be done; the points are kept.
        """
        self._lines.publish()

    def close(self) -> bool:
        """Send pending points for at most VTR_MLFLOW_PATIENCE_S, and publish; whether MLflow has every point."""
        self._closing.set()
        if self._run is not None:
            self._points.put(None)
            self._thread.join(MLFLOW.seconds())
        try:
            self.publish()
        except (OSError, StorageError) as error:
            logger.warning("%s lacks the last points, it cannot be written: %s", self._location, error)
        return self._all_sent

    def _send(self) -> None:
        assert self._run is not None
        sender = PointSender(self._run)
        while (point := self._points.get()) is not None:
            if not self._sent(sender, point):
                return
        self._all_sent = True

    def _sent(self, sender: PointSender, point: Line) -> bool:
        """Retry until MLflow has the point; False where it is unreachable while the log is closed."""
        pause = _FIRST_PAUSE_S
        while True:
            try:
                sender.send([point])
                return True
            except failures() as error:
                if pause == _FIRST_PAUSE_S:
                    logger.warning("MLflow did not take step %d (%s); trying again", point["step"], redact(str(error)))
            if self._closing.wait(pause):
                return False
            pause = min(_LONGEST_PAUSE_S, 2 * pause)


def _is_point(line: Line) -> bool:
    """Whether a line is a point of some step; a run writes no others."""
    return type(line.get("step")) is int
