"""Rows of one benchmark, trained with the same seeds and compared with each other seed by seed, and their page."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from types import MappingProxyType

from benchmarks.comparison.paired import Difference, paired, plus_minus
from benchmarks.comparison.search import Figures, Searched, search
from benchmarks.machine import processor, versions
from pipelines.tables.paper import Results
from pipelines.tables.runs import Sweep, TestSet, read_results
from vtr_core.config.override import override
from vtr_core.metrics.intervals import estimate
from vtr_core.run.presets import preset

RESULTS = Path(__file__).parents[1] / "results"
SPREADS = "Rows: mean ± standard deviation over seeds; differences: ± half of a 95 % t interval, paired by seed."
"""What ± stands for on a page, in its two tables."""


@dataclass(frozen=True)
class World:
    """A data set, the preset trained on it, the changes that make its rows, and what is claimed of them."""

    name: str
    title: str
    preset: str
    rows: Mapping[str, Mapping[str, object]]
    claims: Sequence[tuple[str, str]]
    """(better, worse)."""
    compared: str
    """The metric that claims are judged by."""
    metrics: Mapping[str, str]
    """By metric name its heading."""
    kind: str = "retrieval"
    """Of evaluation, as `TestSet` has it."""
    baseline: str = "chance"
    """What `Results.chance` holds the figures of."""
    note: str = ""
    """What all rows have in common, or what else a reader must know, for the page."""
    trials: Mapping[str, Mapping[str, object]] = field(default_factory=dict)
    """By name the changes that every row's search tries; none: rows are trained as they are."""


def run_rows(
    world: World,
    data: Mapping[str, str],
    out: str,
    seeds: int,
    changes: Mapping[str, object],
    experiment: str,
    init: str | None = None,
    after: str | None = None,
) -> Results:
    """Train and evaluate every row with every seed on the splits `data`; finished runs in `out` are taken as they are.

    changes: of the preset in all rows. init: the model that all trainings begin with; after: the folder of other runs,
    where each begins with its own.
    """
    test_sets = [TestSet(world.name, data["test"], world.kind)]
    sweep = Sweep(out, data["train"], data["val"], test_sets, seeds, experiment, init=init, after=after)
    for row, own in world.rows.items():
        sweep.run(row, override(preset(world.preset), {**changes, **own}))
    return read_results(out, list(world.rows), test_sets, seeds)


def search_rows(
    world: World, data: Mapping[str, str], out: str, seeds: int, changes: Mapping[str, object], experiment: str
) -> tuple[Results, Mapping[str, Searched]]:
    """The results of `run_rows` where every row has first searched the world's trials, judged by the validation split.

    Also every row's search.
    """
    sets = [TestSet(name, data[split], world.kind) for name, split in (("val", "val"), (world.name, "test"))]

    def train(row: str, trial: str, count: int) -> Figures:
        config = override(preset(world.preset), {**changes, **world.rows[row], **world.trials[trial]})
        Sweep(out, data["train"], data["val"], sets, count, experiment).run(f"{row}/{trial}", config)
        return read_results(out, [f"{row}/{trial}"], sets, count).figures[f"{row}/{trial}"]

    found = {row: search(world.trials, f"val/{world.compared}", seeds, partial(train, row)) for row in world.rows}
    chance = read_results(out, [f"{row}/{one.best}" for row, one in found.items()], sets, seeds).chance
    return Results({row: one.figures for row, one in found.items()}, chance), found


def compare(world: World, results: Results) -> list[Difference]:
    """The world's claims, each as the difference in `world.compared` of runs with the same seed."""
    metric = f"{world.name}/{world.compared}"
    return [
        paired(better, worse, results.figures[better][metric], results.figures[worse][metric])
        for better, worse in world.claims
    ]


def write(
    world: World,
    results: Results,
    name: str,
    command: str,
    searches: Mapping[str, Searched] = MappingProxyType({}),
) -> None:
    """Print the world's page, and write it to benchmarks/results with its figures, as `name`.md and `name`.json.

    searches: by row, where `search_rows` made the results.
    """
    differences, numbers = compare(world, results), versions("torch", "ray", "numpy")
    origin = f"On {processor()}; {', '.join(f'{k} {v}' for k, v in numbers.items())}; `{command}`.\n"
    page = f"{markdown(world, results, searches)}\n{origin}"
    record = {
        "figures": results.figures,
        "chance": results.chance,
        "searches": {row: {"trials": one.trials, "best": one.best} for row, one in searches.items()},
        "differences": [asdict(one) | {"verdict": one.verdict} for one in differences],
        "machine": processor(),
        "versions": numbers,
        "command": command,
    }
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / f"{name}.json").write_text(json.dumps(record, indent=1) + "\n")
    (RESULTS / f"{name}.md").write_text(page)
    print(page)


def markdown(world: World, results: Results, searches: Mapping[str, Searched] = MappingProxyType({})) -> str:
    """The rows, their searches, the claims about them, and what ± stands for."""
    searched = ["", *_searches(world, searches)] if searches else []
    return "\n".join([*_rows(world, results), *searched, "", *_claims(world, results), "", SPREADS, ""])


def _rows(world: World, results: Results) -> list[str]:
    lines = [
        f"# {world.title}: rows are changes of `{world.preset}`",
        *(["", world.note] if world.note else []),
        "",
        f"| row | {' | '.join(world.metrics.values())} | seeds |",
        f"|---|{'---:|' * (len(world.metrics) + 1)}",
    ]
    for row in world.rows:
        found = [estimate(results.figures[row][f"{world.name}/{metric}"]) for metric in world.metrics]
        cells = [f"{one.mean:.1f}{plus_minus(one.deviation)}" for one in found]
        lines.append(f"| {row} | {' | '.join(cells)} | {found[0].seeds} |")
    chance = [results.chance.get(f"{world.name}/{metric}") for metric in world.metrics]
    cells = ["–" if one is None else f"{one:.1f}" for one in chance]
    return [*lines, f"| *{world.baseline}* | {' | '.join(cells)} | |"]


def _searches(world: World, searches: Mapping[str, Searched]) -> list[str]:
    """What every row's search found on validation data, with seed 0; the best setting is trained with all seeds."""
    heading = f"{world.metrics[world.compared]} on validation data, seed 0"
    lines = [f"| {heading} | {' | '.join(world.trials)} |", f"|---|{'---:|' * len(world.trials)}"]
    for row, one in searches.items():
        cells = (f"**{value:.1f}**" if trial == one.best else f"{value:.1f}" for trial, value in one.trials.items())
        lines.append(f"| {row} | {' | '.join(cells)} |")
    return lines


def _claims(world: World, results: Results) -> list[str]:
    lines = [f"| better | than | {world.metrics[world.compared]}, paired by seed | |", "|---|---|---:|---|"]
    for one in compare(world, results):
        found = f"{one.difference.mean:+.1f}{plus_minus(one.difference.half_width)}"
        lines.append(f"| {one.better} | {one.worse} | {found} | {one.verdict} |")
    return lines
