"""Runs and sweeps as tables for people and as values for programs."""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from rich.table import Table
from rich.text import Text

from pipelines.report.blank_table import blank_table
from pipelines.report.printed_page import Printed
from pipelines.runs.stored_run import StoredRun
from pipelines.runs.stored_sweep import StoredSweep
from pipelines.train.events import event_line
from vtr_core.errors import ConfigError
from vtr_core.run.presets import PRESETS
from vtr_core.tracking.flatten import flatten

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
