"""Points sent to a tracker: each is stored once, however often it is sent."""

from collections.abc import Mapping, Sequence
from typing import Any, Protocol, runtime_checkable

from vtr_core.tracking.run import Point

_VALUES_AT_ONCE = 1000
"""Maximum number of values in one call."""


@runtime_checkable
class PointStore(Protocol):
    """Any store of a run's points: `TrackedRun` in MLflow, and the trackers beside it."""

    def steps(self, name: str) -> set[int]:
        """The steps at which the run has a value of `name`."""

    def log_points(self, points: Sequence[Point]) -> None:
        """Write values."""


class PointSender:
    """Sends the values that the run does not have yet.

    A step that is repeated after a fault has the same values as before, but another time: the earlier point stays.
    """

    def __init__(self, run: PointStore) -> None:
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
