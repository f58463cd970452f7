"""The log of a run: files of one JSON object a line, events in one, points in another, sent to MLflow by a thread."""

import json
import logging
import queue
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from vtr_core import storage
from vtr_core.json_text import parse_json
from vtr_core.limits import MLFLOW
from vtr_core.storage import Location, StorageError
from vtr_core.tracking.run import Point, TrackedRun
from vtr_core.tracking.store import trouble

Line = dict[str, Any]


def read_lines(location: Location) -> list[Line]:
    """The complete lines of such a file, also while another process writes it; none where there is no file."""
    content = _content(location)
    parsed = (_parse(line) for line in content.splitlines(keepends=True))
    return [value for value in parsed if value is not None]


class JsonLines:
    """Appends lines. Those that cannot be written, for instance to a full disk, are kept in memory and retried.

    A file always ends with a complete line: an incomplete one, left by a crash or a failed write, is cut off. On an
    object store `publish` updates the copy.
    """

    def __init__(self, location: Location) -> None:
        self._location = location
        self._file = Path(location.path) if location.is_local else Path(tempfile.mkdtemp()) / location.name
        self._waiting: list[bytes] = []
        content = _content(location)
        self._size = len(content)
        if content and not location.is_local:
            self._file.write_bytes(content)
        self._keep(content, bool)

    def read(self) -> list[Line]:
        """All lines, including those not yet written."""
        written = self._file.read_bytes() if self._file.exists() else b""
        return [json.loads(line) for line in [*written[: self._size].splitlines(), *self._waiting]]

    def keep(self, stays: Callable[[Line], bool]) -> list[Line]:
        """Drop the lines of which `stays` is false, and return them."""
        return self._keep(self._file.read_bytes() if self._file.exists() else b"", stays)

    def append(self, value: Mapping[str, Any]) -> None:
        """Write a line, now or once that is possible."""
        self._waiting.append((json.dumps(value) + "\n").encode())
        with suppress(OSError):
            self.flush()

    def flush(self) -> None:
        """Write pending lines; OSError where that cannot be done, and they stay pending."""
        if not self._waiting:
            return
        content = b"".join(self._waiting)
        self._file.parent.mkdir(parents=True, exist_ok=True)
        try:
            with self._file.open("ab") as file:
                file.write(content)
        except OSError:
            self._cut()
            raise
        self._size += len(content)
        self._waiting.clear()

    def publish(self) -> None:
        """Write pending lines and, on an object store, the whole file; OSError where that cannot be done."""
        self.flush()
        if not self._location.is_local and self._file.exists():
            storage.write_bytes(self._location, self._file.read_bytes())

    def _keep(self, content: bytes, stays: Callable[[Line], bool]) -> list[Line]:
        """Cut off or drop unwanted lines; cutting needs no free space on the disk."""
        staying: list[bytes] = []
        dropped: list[Line] = []
        for line in content.splitlines(keepends=True):
            value = _parse(line)
            if value is not None and stays(value):
                staying.append(line)
            elif value is not None:
                dropped.append(value)
        left = b"".join(staying)
        if not content.startswith(left):
            storage.write_bytes(storage.locate(self._file), left)
        self._size = len(left)
        self._cut()
        return dropped

    def _cut(self) -> None:
        with suppress(OSError):
            if self._file.exists() and self._file.stat().st_size > self._size:
                with self._file.open("r+b") as file:
                    file.truncate(self._size)


def _parse(line: bytes) -> Line | None:
    """The object of a line; None for an incomplete line."""
    if not line.endswith(b"\n"):
        return None
    try:
        value = parse_json(line)
    except ValueError:
        return None
    return value if isinstance(value, dict) else None


def _content(location: Location) -> bytes:
    try:
        return storage.read_bytes(location) if storage.exists(location) else b""
    except OSError as error:
        raise StorageError(f"{location} cannot be read ({error}); a file of JSON lines is needed") from error


logger = logging.getLogger(__name__)


class EventLog:
    """Appends events to the file, which a resumed run continues, and counts those of this process by name.

    One JSON object a line: {"time": unix seconds, "event": name, …details}. Written by the driver alone. A failed write
    delays the file, not the run.
    """

    def __init__(self, location: Location) -> None:
        self._location = location
        self._lines = JsonLines(location)
        self.counts: Counter[str] = Counter()

    def add(self, event: str, **details: Any) -> None:
        """Log that `event` happened now."""
        self.counts[event] += 1
        self._lines.append({"time": time.time(), "event": event, **details})
        self.publish()

    def publish(self) -> None:
        """Write pending events."""
        try:
            self._lines.publish()
        except (OSError, StorageError) as error:
            logger.warning("%s cannot be written (%s); its events are kept and written later", self._location, error)

    def read(self) -> list[dict[str, Any]]:
        """All events of the run so far, oldest first."""
        return self._lines.read()


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
            except Exception as error:
                if pause == _FIRST_PAUSE_S:
                    logger.warning("MLflow did not take step %d (%s); trying again", point["step"], trouble(error))
            if self._closing.wait(pause):
                return False
            pause = min(_LONGEST_PAUSE_S, 2 * pause)


def _is_point(line: Line) -> bool:
    """Whether a line is a point of some step; a run writes no others."""
    return type(line.get("step")) is int
