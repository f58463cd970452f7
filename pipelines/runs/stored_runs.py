"""Runs and sweeps as their folders hold them: request, progress, end; as tables and as values for programs."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Literal

from rich.table import Table
from rich.text import Text

from pipelines.report.printed_page import Printed, blank_table
from pipelines.sweep.folder import ENDED, SweepFolder, SweepRecord, TrialRow, TrialTable
from vtr_core import storage
from vtr_core.errors import RunConflict
from vtr_core.storage import Location, locate
from vtr_core.tracking.presentation import flatten
from vtr_core.tracking.run_log import Line, read_lines

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


@dataclass(frozen=True)
class StoredSweep:
    """The content of a sweep's folder beside its trials' own folders."""

    uri: str
    record: SweepRecord
    trials: tuple[TrialRow, ...]
    state: State
    """Finished once its results are written."""

    @property
    def ended(self) -> int:
        """The number of trials that finished or were stopped by the scheduler."""
        return sum(trial.state in ENDED for trial in self.trials)

    @property
    def failed(self) -> int:
        """The number of trials that failed; resumption tries them again."""
        return sum(trial.state == "failed" for trial in self.trials)

    @property
    def best(self) -> float | None:
        """The best value of the metric by which trials are compared; None before the first validation."""
        return max((trial.objective for trial in self.trials if trial.objective is not None), default=None)


def sweeps_in(folder: str) -> list[StoredSweep]:
    """The sweeps directly in a folder, in the order in which they began."""
    found = [_stored_sweep(child) for child in storage.children(locate(folder)) if storage.exists(child / "sweep.json")]
    return sorted(found, key=lambda sweep: sweep.record.started)


def _stored_sweep(place: Location) -> StoredSweep:
    state = state_of(place, finished=storage.exists(place / "best_trials.json"))
    return StoredSweep(place.uri, SweepFolder(place).record(), tuple(TrialTable(place).rows), state)


Found = tuple[Any, list[Printed]]
"""What JSON holds, and what a terminal shows."""


def listed(runs: Sequence[StoredRun], sweeps: Sequence[StoredSweep], folder: str) -> Found:
    """One row for each run, then one for each sweep."""
    values = [*map(_summary, runs), *map(_sweep_summary, sweeps)]
    if not values:
        return values, [f"there is no run and no sweep in {folder}"]
    return values, [*([_run_table(runs)] if runs else []), *([_sweep_table(sweeps)] if sweeps else [])]


def _run_table(runs: Sequence[StoredRun]) -> Table:
    table = blank_table("", "run", "preset", "state", "began", "step", "best")
    for run in runs:
        began, best = _began(run.record.get("started")), _best(run.best, run.metric)
        table.add_row(Text(run.uri), Text(run.preset), run.state, began, f"{run.step:,}", best)
    return table


def _sweep_table(sweeps: Sequence[StoredSweep]) -> Table:
    table = blank_table("", "sweep", "space", "state", "began", "trials", "best")
    for sweep in sweeps:
        record, failed = sweep.record, f", {sweep.failed} failed" if sweep.failed else ""
        trials, best = f"{sweep.ended} of {record.num_samples}{failed}", _best(sweep.best, record.metric)
        table.add_row(Text(sweep.uri), Text(record.space), sweep.state, _began(record.started), trials, best)
    return table


def _summary(run: StoredRun) -> dict[str, Any]:
    best = {"metric": run.metric, "value": run.best}
    return {
        "run": run.uri,
        "preset": run.preset,
        "state": run.state,
        "started": run.record.get("started"),
        "step": run.step,
        "best": best,
    }


def _sweep_summary(sweep: StoredSweep) -> dict[str, Any]:
    record = sweep.record
    return {
        "sweep": sweep.uri,
        "space": record.space,
        "state": sweep.state,
        "started": record.started,
        "trials": {"asked": record.num_samples, "ended": sweep.ended, "failed": sweep.failed},
        "best": {"metric": record.metric, "value": sweep.best},
    }


def _best(value: float | None, metric: str) -> str:
    return "-" if value is None else f"{value:.2f} {metric.removeprefix('val/')}"


def _began(started: float | None) -> str:
    return datetime.fromtimestamp(started or 0.0, UTC).strftime("%Y-%m-%d %H:%M") + " UTC"
