"""Runs and sweeps as their folders hold them: request, progress, end; as tables and as values for programs."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Literal

from rich.table import Table
from rich.text import Text

from pipelines.report.printed_page import Printed, blank_table
from pipelines.sweep.folder import ENDED, SweepFolder, SweepRecord, TrialRow, TrialTable
from pipelines.train.events import event_line
from vtr_core import storage
from vtr_core.errors import ConfigError, RunConflict
from vtr_core.run.presets import PRESETS
from vtr_core.storage import Location, locate
from vtr_core.tracking.json_lines import Line, read_lines
from vtr_core.tracking.presentation import flatten

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
_TOLD_BY_DATA = ("model.inputs.", "model.words.")
"""Settings that come from the training data and not from the user."""


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


def shown(run: StoredRun) -> Found:
    """One run: inputs, settings that differ from its preset, the last validation, events."""
    changed, validation = changes(run), run.last_validation
    began, best = _began(run.record.get("started")), _best(run.best, run.metric)
    values = {**_summary(run), "data": run.record.get("data"), "changed": changed, "validation": validation}
    lines: list[Printed] = [
        f"{run.uri}: {run.preset}, {run.state} at step {run.step:,}, began {began}, best {best}",
        f"data        {run.record.get('data')}",
        f"validation  {run.record.get('validation')}",
        *(f"  {name} = {value}" for name, value in changed.items()),
        *(f"  {name:32} {value:10.3f}" for name, value in validation.items()),
        *(f"  {_when(line['time'])}  {_event(line)}" for line in run.events),
    ]
    return {**values, "events": list(run.events)}, lines


def compared(runs: Sequence[StoredRun]) -> Found:
    """The settings in which runs differ, then the metrics of their last validations, a column for each run."""
    if len(runs) < 2:
        raise ConfigError("vtr runs compare: give two runs or more")
    differing = {name: [run.config.get(name) for run in runs] for name in _all_names([run.config for run in runs])}
    settings = {name: values for name, values in differing.items() if any(value != values[0] for value in values)}
    names = _all_names([run.last_validation for run in runs])
    metrics = {name: [run.last_validation.get(name) for run in runs] for name in names}
    values = {"runs": [run.uri for run in runs], "settings": settings, "validation": metrics}
    return values, [_side_by_side("settings", runs, settings), _side_by_side("last validation", runs, metrics)]


def changes(run: StoredRun) -> dict[str, Any]:
    """The settings that differ from those of the run's preset, but for what its data says; all of an unknown preset."""
    plain = flatten(PRESETS[run.preset]().model_dump(mode="json")) if run.preset in PRESETS else {}
    told = {name: value for name, value in run.config.items() if not name.startswith(_TOLD_BY_DATA)}
    return {name: value for name, value in told.items() if plain.get(name) != value}


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


def _all_names(parts: Sequence[Any]) -> list[str]:
    return list(dict.fromkeys(name for part in parts for name in part))


def _side_by_side(title: str, runs: Sequence[StoredRun], rows: dict[str, list[Any]]) -> Table:
    table = blank_table(title, "", *(run.uri.rstrip("/").rpartition("/")[2] for run in runs))
    for name, values in rows.items():
        table.add_row(
            Text(name), *(Text(f"{value:.3f}" if isinstance(value, float) else str(value)) for value in values)
        )
    return table


def _best(value: float | None, metric: str) -> str:
    return "-" if value is None else f"{value:.2f} {metric.removeprefix('val/')}"


def _began(started: float | None) -> str:
    return _when(started or 0.0)


def _when(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M") + " UTC"


def _event(line: dict[str, Any]) -> str:
    details = {name: value for name, value in line.items() if name not in ("time", "event")}
    return event_line(line["event"], details)
