"""Results of a sweep: its trials as a table, JSON and commands, and the best model's registration."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from rich.console import Console
from rich.table import Table

from pipelines.sweep.folder import ENDED, Outcome, SweepFolder, SweepRecord, TrialRow, TrialTable, note
from pipelines.systems.registry import SYSTEMS
from vtr_core import storage
from vtr_core.config.search_space import Space
from vtr_core.errors import TrainingError, VtrError, command_line
from vtr_core.tracking.models.registry import model_name, register_checkpoint
from vtr_core.tracking.run import NOTE, TrackedRun, markdown_table
from vtr_core.train.checkpoint.checkpoint_files import find_checkpoint


def ranked(rows: Sequence[TrialRow]) -> list[TrialRow]:
    """The ended trials with an objective, best first, ties by number."""
    known = [row for row in rows if row.state in ENDED and row.objective is not None]
    return sorted(known, key=lambda row: (-(row.objective or 0.0), row.number))


def command(folder: SweepFolder, record: SweepRecord, row: TrialRow) -> str:
    """The shell command that trains a trial's configuration."""
    config = folder.run(row).location / "config.json"
    concepts = [] if record.concepts is None else ["--concepts", record.concepts]
    return command_line(
        "train", "--config", config, "--data", record.data, "--validation", record.validation, *concepts
    )


def table(rows: Sequence[TrialRow], metric: str, most: int = 10) -> Table:
    """The best trials as a table."""
    shown = Table(title=f"the best of {len(rows)} trials", title_justify="left")
    for column in ("trial", metric.removeprefix("val/"), "epochs"):
        shown.add_column(column, justify="right", no_wrap=True)
    shown.add_column("end", no_wrap=True)
    shown.add_column("settings")
    for row in ranked(rows)[:most]:
        shown.add_row(row.name, f"{row.objective:.3f}", f"{_epochs(row):g}", row.state, settings(row.point))
    return shown


def best_of(rows: Sequence[TrialRow], metric: str, most: int = 5) -> str:
    """The best trials as a table in Markdown."""
    best = [[row.name, f"{row.objective:.4g}", f"{_epochs(row):g}", settings(row.point)] for row in ranked(rows)[:most]]
    return markdown_table(["trial", metric.removeprefix("val/"), "epochs", "settings"], best)


def settings(point: Mapping[str, Any]) -> str:
    """A point on one line."""
    shown = (f"{value:.3g}" if isinstance(value, float) else str(value) for value in point.values())
    return ", ".join(
        f"{name.removeprefix('model.').removeprefix('optimizer.')} {value}"
        for name, value in zip(point, shown, strict=True)
    )


def to_json(rows: Sequence[TrialRow], commands: Mapping[int, str]) -> list[dict[str, Any]]:
    """All trials with all their validations, best first, then those without an objective."""
    best = ranked(rows)
    unranked = [row for row in rows if row not in best]
    return [{**asdict(row), "command": commands.get(row.number)} for row in [*best, *unranked]]


def _epochs(row: TrialRow) -> float:
    return round(row.reports[-1][0], 2) if row.reports else 0.0


BEST_TRIALS = "best_trials.json"
_COMMANDS = 3
"""Number of best trials whose commands are printed."""


def conclude(folder: SweepFolder, record: SweepRecord, space: Space, trials: TrialTable, tracking_uri: str) -> Outcome:
    """Print and write the results, and register the best trial's model; TrainingError where all trials failed."""
    rows = trials.rows
    best = ranked(rows)
    if not best:
        reason = next((row.reason for row in rows if row.reason), "none ended")
        raise TrainingError(f"no trial came to a validation: {reason}; trials.json in {folder.location} has all")
    commands = {row.number: command(folder, record, row) for row in best}
    trials_json = json.dumps(to_json(rows, commands), indent=1) + "\n"
    storage.write_bytes(folder.location / BEST_TRIALS, trials_json.encode())
    _print(folder, record, rows, best, commands)
    version = _register(folder, record, best[0], space, tracking_uri)
    figure = {record.metric: best[0].objective or 0.0}
    page = f"{note(folder, record)}\nThe best of {len(rows)} trials:\n\n{best_of(rows, record.metric)}"
    tags = {"best_trial": best[0].name, NOTE: page, **version}
    return Outcome(figure, best[0].step, tags, {BEST_TRIALS: trials_json})


def _print(
    folder: SweepFolder,
    record: SweepRecord,
    rows: Sequence[TrialRow],
    best: Sequence[TrialRow],
    commands: Mapping[int, str],
) -> None:
    print()
    Console().print(table(rows, record.metric))
    for row in best[:_COMMANDS]:
        print(f"\ntrial {row.name}  {commands[row.number]}")
    failed = [row for row in rows if row.state == "failed"]
    for row in failed:
        print(f"\ntrial {row.name}  failed: {row.reason}")
    print(f"\nsweep       {folder.location}: {BEST_TRIALS}")
    print(f"checkpoint  {find_checkpoint(folder.run(best[0]).location)}")


def _register(
    folder: SweepFolder, record: SweepRecord, row: TrialRow, space: Space, tracking_uri: str
) -> dict[str, str]:
    """Register the model; returns the tags of the registration, empty where it fails."""
    run = folder.run(row)
    child, _ = run.read(SYSTEMS)
    name = model_name(space.preset)
    if child.mlflow_run_id is None:
        print(f"MLflow does not have trial {row.name}, so its checkpoint is not registered as {name}")
        return {}
    tracked = TrackedRun(tracking_uri, record.experiment, child.mlflow_run_id)
    try:
        version = register_checkpoint(tracked, find_checkpoint(run.location).uri, name, SYSTEMS)
    except VtrError as error:
        print(f"the best checkpoint is not registered: {error}")
        return {}
    print(f"champion    models:/{name}@champion is version {version}, of trial {row.name}")
    return {"model": name, "model.version": version}
