"""Every row's search within the time that there is; trained in this process, finished runs are reused."""

import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from benchmarks.capsule_ablation.rows import PRESET, ROWS, TRIALS
from benchmarks.capsule_ablation.worlds import World
from benchmarks.comparison.search import Figures, Searched, search
from pipelines.tables.runs import Sweep, TestSet, read_results
from vtr_core.config.override import override
from vtr_core.run.config import TrainConfig
from vtr_core.run.presets import preset


@dataclass(frozen=True)
class Effort:
    """How long, how often, and until when there is training."""

    steps: int
    seeds: int
    until: float
    """No training is begun later; by the monotonic clock, in seconds."""


class OutOfTime(Exception):
    """A training would have begun too late."""


def finished_rows(
    before: Mapping[str, Searched | None], world: World, data: str, out: str, effort: Effort
) -> dict[str, Searched]:
    """The rows that are finished, or are when the time is over; `before`: by name, what is known of each."""
    found = {}
    for row, known in before.items():
        with suppress(OutOfTime):
            found[row] = search_row(row, known, world, data, out, effort)
    return found


def search_row(row: str, known: Searched | None, world: World, data: str, out: str, effort: Effort) -> Searched:
    """All trials with seed 0, and the best one with every seed; OutOfTime where one would begin too late.

    known: the row after a search with the same steps, whose trials and seeds are not trained again.
    """
    chosen_by = f"val/{world.shown[-1]}"

    def train(trial: str, seeds: int) -> Figures:
        figures = known_figures(known, trial, seeds, chosen_by) if known else {}
        if figures:
            return figures
        variant, config = f"{row}/{trial.replace(', ', '-')}", row_config(row, trial, world, effort.steps)
        for count in range(1, seeds + 1):
            done = Path(out, variant, f"seed-{count - 1}", "figures-test.json").exists()
            if not done and time.monotonic() > effort.until:
                raise OutOfTime
            figures = _trained(variant, config, data, out, count)
        return figures

    found = search(TRIALS, chosen_by, effort.seeds, train)
    return replace(found, figures={name: found.figures[f"test/{name}"] for name in world.shown})


def known_figures(known: Searched, trial: str, seeds: int, chosen_by: str) -> Figures:
    """A trial's figures as far as `known` has all that `search` asks for with so many seeds, or more; else none."""
    if trial == known.best and all(len(values) >= seeds for values in known.figures.values()):
        return {chosen_by: (known.trials[trial],)} | {f"test/{name}": values for name, values in known.figures.items()}
    return {chosen_by: (known.trials[trial],)} if seeds == 1 and trial in known.trials else {}


def _trained(variant: str, config: TrainConfig, data: str, out: str, seeds: int) -> Figures:
    """The figures of `seeds` trainings on validation and test data; finished ones are taken as they are."""
    sets = [TestSet(split, f"{data}/{split}", "retrieval") for split in ("val", "test")]
    Sweep(out, f"{data}/train", f"{data}/val", sets, seeds, "capsule-ablation").run(variant, config)
    return read_results(out, [variant], sets, seeds).figures[variant]


def row_config(row: str, trial: str, world: World, steps: int) -> TrainConfig:
    """A variant of the preset with a world's and a trial's settings, trained in this process."""
    fixed = {"scaling.workers": 0, "training.epochs": 1000, "training.max_steps": steps}
    rare = {"training.validate_every": 1000, "training.log_every": 50}
    network = ROWS[row]
    base = preset(f"{PRESET}-{network.variant}" if network.variant else PRESET)
    return override(base, {**fixed, **rare, **world.changes, **network.changes, **TRIALS[trial]})
