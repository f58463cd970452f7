"""`vtr runs list`: the runs and sweeps in a folder, without MLflow."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from types import MappingProxyType
from typing import Annotated, Any, Literal

import tyro
from rich.table import Table
from rich.text import Text

from pipelines.arguments import parse_action, print_json
from pipelines.report.figures import blank_table, show
from vtr_core import storage
from vtr_core.storage import Location, locate
from vtr_core.tracking.run_log import read_lines

Row = Mapping[str, Any]
"""A run or a sweep, as `vtr runs list --json` prints it."""


def runs_in(folder: str) -> list[Row]:
    """The runs directly in a folder, in the order in which they began, and then its sweeps."""
    children = list(storage.children(locate(folder)))
    runs = [_run(child) for child in children if storage.exists(child / "run.json")]
    sweeps = [_sweep(child) for child in children if storage.exists(child / "sweep.json")]
    return [*sorted(runs, key=_started), *sorted(sweeps, key=_started)]


def _run(place: Location) -> Row:
    config = storage.read_json(place / "config.json") if storage.exists(place / "config.json") else {}
    metric = str(config.get("training", {}).get("metric", ""))
    points, events = read_lines(place / "metrics.jsonl"), read_lines(place / "events.jsonl")
    starts_and_ends = [line["event"] for line in events if line["event"] in ("finished", "started", "resumed")]
    best = max((float(point[metric]) for point in points if metric in point), default=None)
    return {
        "run": place.uri,
        "preset": str(config.get("preset", "custom")),
        "state": _state(place, starts_and_ends[-1:] == ["finished"]),
        "started": storage.read_json(place / "run.json").get("started"),
        "step": max((int(point["step"]) for point in points if "step" in point), default=0),
        "best": {"metric": metric, "value": best},
    }


def _sweep(place: Location) -> Row:
    from pipelines.sweep.folder import ENDED, SweepFolder, TrialTable

    record, trials = SweepFolder(place).record(), TrialTable(place).rows
    best = max((trial.objective for trial in trials if trial.objective is not None), default=None)
    ended, failed = (sum(trial.state in states for trial in trials) for states in (ENDED, ("failed",)))
    return {
        "sweep": place.uri,
        "space": record.space,
        "state": _state(place, storage.exists(place / "best_trials.json")),
        "started": record.started,
        "trials": {"asked": record.num_samples, "ended": ended, "failed": failed},
        "best": {"metric": record.metric, "value": best},
    }


def _state(place: Location, finished: bool) -> Literal["finished", "running", "interrupted"]:
    """Unless finished, running while a process that may live holds the folder."""
    from vtr_core.train.fleet.lease import may_be_held

    if finished:
        return "finished"
    return "running" if may_be_held(place) else "interrupted"


def tables(rows: Sequence[Row]) -> list[Table]:
    """A table of the runs and one of the sweeps, where there are any."""
    runs = blank_table("", "run", "preset", "state", "began", "step", "best")
    sweeps = blank_table("", "sweep", "space", "state", "began", "trials", "best")
    for row in rows:
        began = datetime.fromtimestamp(_started(row), UTC).strftime("%Y-%m-%d %H:%M UTC")
        value, metric = row["best"]["value"], row["best"]["metric"].removeprefix("val/")
        best = "-" if value is None else f"{value:.2f} {metric}"
        if "run" in row:
            runs.add_row(Text(row["run"]), Text(row["preset"]), row["state"], began, f"{row['step']:,}", best)
        else:
            trials = row["trials"]
            failed = f", {trials['failed']} failed" if trials["failed"] else ""
            progress = f"{trials['ended']} of {trials['asked']}{failed}"
            sweeps.add_row(Text(row["sweep"]), Text(row["space"]), row["state"], began, progress, best)
    return [table for table in (runs, sweeps) if table.row_count]


def _started(row: Row) -> float:
    return float(row["started"] or 0.0)


HELP = """\
usage: vtr runs list [FOLDER] [--json]           the runs and sweeps in a folder: state, how far, best validation

`mlflow ui` shows a run's settings, metrics and events, and compares runs.
"""


@dataclass(frozen=True)
class ListFlags:
    """Flags of `vtr runs list`."""

    folder: Annotated[str, tyro.conf.Positional] = "runs"
    """Folder or URI with runs and sweeps directly in it."""
    json: bool = False
    """Print JSON."""


_FLAGS: Mapping[str, type] = MappingProxyType({"list": ListFlags})
ACTIONS = tuple(_FLAGS)


def main(argv: Sequence[str]) -> None:
    """Run the command."""
    flags = parse_action(argv, "runs", _FLAGS, HELP)
    if not isinstance(flags, ListFlags):
        return
    rows = runs_in(flags.folder)
    if flags.json:
        print_json(rows)
    else:
        show(tables(rows) or [f"there is no run and no sweep in {flags.folder}"])


if __name__ == "__main__":
    from pipelines.cli import main as vtr

    vtr("runs")
