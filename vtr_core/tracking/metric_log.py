"""The metrics of a run: every point in a JSON-lines file, and sent to MLflow by a thread of its own."""

import logging
import queue
import threading
import time
from collections.abc import Mapping

from vtr_core.patience import MLFLOW
from vtr_core.storage import Location, StorageError
from vtr_core.tracking.json_lines import JsonLines, Line
from vtr_core.tracking.redaction import redact
from vtr_core.tracking.run import TrackedRun, failures
from vtr_core.tracking.sending import PointSender

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
