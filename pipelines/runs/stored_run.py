"""A run as its folder holds it: what it was asked for, how far it came, how it ended."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from vtr_core import storage
from vtr_core.errors import RunConflict
from vtr_core.storage import Location, locate
from vtr_core.tracking.flatten import flatten
from vtr_core.tracking.json_lines import Line, read_lines

State = Literal["finished", "running", "interrupted"]


@dataclass(frozen=True)
class StoredRun:
    """The content of a run folder beside its checkpoints."""

    uri: str
    record: Mapping[str, Any]
    """run.json: data, validation, experiment, when it began."""
    config: Mapping[str, Any]
    """config.json with dotted names."""
    points: tuple[Line, ...]
    """metrics.jsonl."""
    events: tuple[Line, ...]
    """events.jsonl."""
    state: State

    @property
    def preset(self) -> str:
        """The preset that the configuration started from."""
        return str(self.config.get("preset", "custom"))

    @property
    def step(self) -> int:
        """The last step that was logged; 0 without any."""
        return max((int(point["step"]) for point in self.points if "step" in point), default=0)

    @property
    def metric(self) -> str:
        """The validation metric that selects the best checkpoint."""
        return str(self.config.get("training.metric", ""))

    @property
    def best(self) -> float | None:
        """The best value of that metric; None without a validation."""
        return max((float(point[self.metric]) for point in self.points if self.metric in point), default=None)

    @property
    def last_validation(self) -> dict[str, float]:
        """All metrics of the last validation by name."""
        found = [point for point in self.points if any(name.startswith("val/") for name in point)]
        return {name: float(value) for name, value in found[-1].items() if name.startswith("val/")} if found else {}


def stored_run(uri: str) -> StoredRun:
    """The run at `uri`; RunConflict where there is none."""
    place = locate(uri)
    if not storage.exists(place / "run.json"):
        raise RunConflict(f"{uri} holds no run: it has no run.json; give a folder that vtr runs list names")
    return _stored(place)


def runs_in(folder: str) -> list[StoredRun]:
    """The runs directly in a folder, in the order in which they began."""
    found = [_stored(child) for child in storage.children(locate(folder)) if storage.exists(child / "run.json")]
    return sorted(found, key=lambda run: float(run.record.get("started", 0.0)))


def _stored(place: Location) -> StoredRun:
    events = tuple(read_lines(place / "events.jsonl"))
    config = storage.read_json(place / "config.json") if storage.exists(place / "config.json") else {}
    return StoredRun(
        uri=place.uri,
        record=storage.read_json(place / "run.json"),
        config=flatten(config),
        points=tuple(read_lines(place / "metrics.jsonl")),
        events=events,
        state=state_of(place, _has_finished(events)),
    )


def _has_finished(events: tuple[Line, ...]) -> bool:
    """Whether the last start ended."""
    last = next((line["event"] for line in reversed(events) if line["event"] in ("finished", "started", "resumed")), "")
    return bool(last == "finished")


def state_of(place: Location, finished: bool) -> State:
    """The state of the folder of a run or sweep: unless finished, running while a process that may live holds it."""
    from vtr_core.train.fleet.lease import may_be_held

    if finished:
        return "finished"
    return "running" if may_be_held(place) else "interrupted"


def delete_unfinished(uri: str) -> None:
    """Remove the folder of a run that never finished; RunConflict for a finished one, and for one that is written."""
    from vtr_core.train.fleet.lease import Lease

    run = stored_run(uri)
    if any(line["event"] == "finished" for line in run.events):
        raise RunConflict(f"{uri} finished at step {run.step} and is kept; delete its folder yourself if you mean it")
    with Lease.take(locate(uri)):
        storage.delete_file(locate(uri) / "run.json")
        storage.delete_folder(locate(uri))
