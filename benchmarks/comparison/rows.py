"""Rows of one benchmark, trained with the same seeds and compared with each other seed by seed, and their page."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import partial
from types import MappingProxyType

from benchmarks.comparison.paired import Difference, paired, plus_minus
from benchmarks.comparison.search import Figures, Searched, search
from benchmarks.report.pages import RESULTS, about, origin, table, write_page
from pipelines.tables.layout import Results
from pipelines.tables.runs import Sweep, TestSet, read_results
from vtr_core.config.override import override
from vtr_core.metrics.intervals import estimate
from vtr_core.run.presets import preset

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
) -> Results:
    """Train and evaluate every row with every seed on the splits `data`; finished runs in `out` are taken as they are.

    changes: of the preset in all rows. init: the model that all trainings begin with.
    """
    test_sets = [TestSet(world.name, data["test"], world.kind)]
    sweep = Sweep(out, data["train"], data["val"], test_sets, seeds, experiment, init=init)
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

    searches = {row: search(world.trials, f"val/{world.compared}", seeds, partial(train, row)) for row in world.rows}
    chance = read_results(out, [f"{row}/{searched.best}" for row, searched in searches.items()], sets, seeds).chance
    return Results({row: searched.figures for row, searched in searches.items()}, chance), searches


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
    place = about("", (), ("torch", "ray", "numpy")) | {"command": command}
    page = f"{markdown(world, results, searches)}\n{origin(place)}\n"
    record = {
        "figures": results.figures,
        "chance": results.chance,
        "searches": {row: {"trials": searched.trials, "best": searched.best} for row, searched in searches.items()},
        "differences": [asdict(pair) | {"verdict": pair.verdict} for pair in compare(world, results)],
        **place,
    }
    RESULTS.mkdir(exist_ok=True)
    write_page(RESULTS, name, record, page)
    print(page)


def markdown(world: World, results: Results, searches: Mapping[str, Searched] = MappingProxyType({})) -> str:
    """The rows, their searches, the claims about them, and what ± stands for."""
    searched = ["", *_searches(world, searches)] if searches else []
    return "\n".join([*_rows(world, results), *searched, "", *_claims(world, results), "", SPREADS, ""])


def _rows(world: World, results: Results) -> list[str]:
    note = ["", world.note] if world.note else []
    rows = []
    for row in world.rows:
        means = [estimate(results.figures[row][f"{world.name}/{metric}"]) for metric in world.metrics]
        rows.append([row, *(f"{mean.mean:.1f}{plus_minus(mean.deviation)}" for mean in means), means[0].seeds])
    chance = [results.chance.get(f"{world.name}/{metric}") for metric in world.metrics]
    lines = table(["row", *world.metrics.values(), "seeds"], rows)
    cells = ["–" if value is None else f"{value:.1f}" for value in chance]
    title = f"# {world.title}: rows are changes of `{world.preset}`"
    return [title, *note, "", *lines, f"| *{world.baseline}* | {' | '.join(cells)} | |"]


def _searches(world: World, searches: Mapping[str, Searched]) -> list[str]:
    """What every row's search saw on validation data, with seed 0; the best setting is trained with all seeds."""
    rows = [
        [
            row,
            *(
                f"**{value:.1f}**" if trial == searched.best else f"{value:.1f}"
                for trial, value in searched.trials.items()
            ),
        ]
        for row, searched in searches.items()
    ]
    return table([f"{world.metrics[world.compared]} on validation data, seed 0", *world.trials], rows)


def _claims(world: World, results: Results) -> list[str]:
    lines = [f"| better | than | {world.metrics[world.compared]}, paired by seed | |", "|---|---|---:|---|"]
    for pair in compare(world, results):
        difference = f"{pair.difference.mean:+.1f}{plus_minus(pair.difference.half_width)}"
        lines.append(f"| {pair.better} | {pair.worse} | {difference} | {pair.verdict} |")
    return lines
