"""The trials of a sweep as a table, as CSV, as JSON, and as training commands."""

import csv
import io
import json
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from rich.table import Table

from pipelines.sweep.folder import ENDED, SweepRecord, TrialRow
from vtr_core.config.override import override
from vtr_core.run.config import TrainConfig
from vtr_core.run.models import trained_vectors
from vtr_core.run.space import Space
from vtr_core.tracking.flatten import flatten
from vtr_core.tracking.presentation import markdown_table


def ranked(rows: Sequence[TrialRow]) -> list[TrialRow]:
    """The ended trials with an objective, best first, ties by number."""
    known = [row for row in rows if row.state in ENDED and row.objective is not None]
    return sorted(known, key=lambda row: (-(row.objective or 0.0), row.number))


def training_flags(preset: TrainConfig, config: TrainConfig) -> dict[str, Any]:
    """The minimal changes from `preset` to `config`, as flags of vtr train, without settings that the data determines.

    Where the kind of a variant differs, the changes are its kind and the differences from that kind's defaults.
    """
    trained = trained_vectors(config.model)
    of_data = ["model.inputs"]
    if trained is not None and trained == trained_vectors(preset.model):
        of_data.append(trained)
    inputs = {name: _at(config, name) for name in of_data}
    wanted = flatten(config.model_dump())
    start = override(preset, inputs)
    kinds: dict[str, Any] = {}
    while True:  # variants may be nested
        made = flatten(override(start, kinds).model_dump())
        new = {n: v for n, v in wanted.items() if n.endswith(".kind") and n in made and made[n] != v}
        if not new:
            break
        kinds |= new
    return {**kinds, **{name: value for name, value in wanted.items() if made[name] != value}}


def command(preset: TrainConfig, config: TrainConfig, record: SweepRecord) -> str:
    """The shell command that trains `config`."""
    words = ["vtr", "train", preset.preset, "--data", record.data, "--validation", record.validation]
    words += ["--concepts", record.concepts] if record.concepts is not None else []
    for name, value in training_flags(preset, config).items():
        words += [f"--{name.replace('_', '-')}", json.dumps(value) if isinstance(value, list | tuple) else str(value)]
    return shlex.join(words)


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


def to_csv(rows: Sequence[TrialRow], space: Space, metric: str, weights: Mapping[int, int]) -> str:
    """All trials as CSV."""
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    names = list(space.parameters)
    writer.writerow(["trial", "state", metric, "epochs", "step", "weights", "seconds", *names, "reason"])
    for row in rows:
        point = [row.point.get(name, "") for name in names]
        objective = "" if row.objective is None else row.objective
        seconds = round(row.seconds, 1)
        end = [row.name, row.state, objective, _epochs(row), row.step, weights.get(row.number, ""), seconds]
        writer.writerow([*end, *point, row.reason])
    return file.getvalue()


def to_json(rows: Sequence[TrialRow], commands: Mapping[int, str], weights: Mapping[int, int]) -> list[dict[str, Any]]:
    """All trials with all their validations, best first, then those without an objective."""
    best = ranked(rows)
    others = [row for row in rows if row not in best]
    return [
        {**asdict(row), "weights": weights.get(row.number), "command": commands.get(row.number)}
        for row in [*best, *others]
    ]


def _epochs(row: TrialRow) -> float:
    return round(row.reports[-1][0], 2) if row.reports else 0.0


def _at(config: TrainConfig, name: str) -> Any:
    value: Any = config.model_dump()
    for part in name.split("."):
        value = value[part]
    return value
