"""The metrics of a run: every point in a JSON-lines file, and sent to MLflow beside training, not in its way."""

import json
import logging
import queue
import tempfile
import threading
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from vtr_core import storage
from vtr_core.storage import Location
from vtr_core.tracking.run import Failure, TrackedRun

logger = logging.getLogger(__name__)
_CLOSE_TIMEOUT_S = 30.0


class MetricLog:
    """Appends points to `metrics.jsonl`; a thread sends them to MLflow, in order, and waits while it is away."""

    def __init__(self, location: Location, run: TrackedRun | None, after_step: int = 0) -> None:
        """Points of steps after `after_step`, left by a run that is resumed from there, are dropped."""
        self._location = location
        self._file = Path(location.path) if location.is_local else Path(tempfile.mkdtemp()) / location.name
        self._keep_until(after_step)
        self._points: queue.Queue[dict[str, Any] | None] = queue.Queue()
        self._run = run
        self._sender = threading.Thread(target=self._send, name="metric-sender", daemon=True)
        if run is not None:
            self._sender.start()

    def add(self, metrics: Mapping[str, float], step: int) -> None:
        """Log the values of one step."""
        point = {"step": step, "time": time.time(), **metrics}
        with self._file.open("a") as file:
            file.write(json.dumps(point) + "\n")
        if self._run is not None:
            self._points.put(point)

    def publish(self) -> None:
        """Bring a remote run folder's copy up to date."""
        if not self._location.is_local and self._file.exists():
            storage.write_bytes(self._location, self._file.read_bytes())

    def close(self) -> None:
        """Send what is left, for at most half a minute, and publish."""
        if self._run is not None:
            self._points.put(None)
            self._sender.join(_CLOSE_TIMEOUT_S)
            if self._sender.is_alive():
                logger.warning("MLflow did not take all metrics; %s has every one", self._location)
        self.publish()

    def _keep_until(self, step: int) -> None:
        self._file.parent.mkdir(parents=True, exist_ok=True)
        if storage.exists(self._location):
            lines = storage.read_bytes(self._location).decode().splitlines()
            kept = [line for line in lines if _step(line) <= step]
            self._file.write_text("".join(line + "\n" for line in kept))

    def _send(self) -> None:
        assert self._run is not None
        pause = 1.0
        while (point := self._points.get()) is not None:
            values = {name: value for name, value in point.items() if name not in ("step", "time")}
            while True:
                try:
                    self._run.log_metrics(values, point["step"], int(point["time"] * 1000))
                    pause = 1.0
                    break
                except Failure as error:
                    logger.warning("MLflow did not take step %d (%s); trying again", point["step"], error)
                    time.sleep(pause)
                    pause = min(60.0, 2 * pause)


def _step(line: str) -> int:
    """The step of a line; a line cut off by a crash counts as after every step."""
    try:
        return int(json.loads(line)["step"])
    except (ValueError, KeyError):
        return 2**62
