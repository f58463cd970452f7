"""What MUSE's block and its scales are worth where it can be tried: a world of small things, and MSR-VTT's frames.

In the synthetic world of small things a patch or two decide what a caption tells; on MSR-VTT-800 frames are single
vectors, with scales in time. Every row is trained with the same seeds and compared with the others seed by seed:

    python -m benchmarks.muse_worlds --data ../shared/data
"""

import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from benchmarks.machine import processor, versions
from benchmarks.msrvtt_dual import videos
from benchmarks.paired import Difference, paired
from pipelines.arguments import parse
from pipelines.table_runs import Sweep, TestSet, read_results
from vtr_core.config.override import override
from vtr_core.config.presets import preset
from vtr_core.data.manifest import splits
from vtr_core.tables.interval import estimate
from vtr_core.tables.table import Results

RESULTS = Path(__file__).parent / "results"


@dataclass(frozen=True)
class World:
    """A data set, the preset trained on it, the changes that make its rows, and what is claimed of them."""

    name: str
    preset: str
    rows: Mapping[str, Mapping[str, object]]
    claims: Sequence[tuple[str, str]]
    """(better, worse)."""
    compared: str
    """The metric that claims are judged by."""


MEAN = {"model.learner.kind": "none"}
SMALL_THINGS = World(
    "small-things",
    "muse-tokens-tiny",
    {
        "mean-pooling": {**MEAN, "model.scales": (1,)},
        "scales-1": {"model.scales": (1,)},
        "scales-1-4": {"model.scales": (1, 4)},
        "scales-1-2-4": {},
    },
    (
        ("scales-1-2-4", "mean-pooling"),
        ("scales-1-2-4", "scales-1"),
        ("scales-1-2-4", "scales-1-4"),
    ),
    compared="t2v/r1",
)
MSRVTT = World(
    "msrvtt-800",
    "muse-msrvtt-tiny",
    {
        "mean-pooling": {**MEAN, "model.temporal_scales": ()},
        "frames-1": {"model.temporal_scales": ()},
        "frames-1-2-4-8": {},
    },
    (
        ("frames-1", "mean-pooling"),
        ("frames-1-2-4-8", "mean-pooling"),
        ("frames-1-2-4-8", "frames-1"),
    ),
    compared="t2v/r10",
)
METRICS = {"t2v/r1": "R@1", "t2v/r5": "R@5", "t2v/r10": "R@10", "t2v/medr": "MedR", "t2v/meanr": "MeanR"}
MSRVTT_CHANGES = {"training.epochs": 60, "training.validate_every": 5, "scaling.workers": 1}


@dataclass(frozen=True)
class Flags:
    """Where the data is, where to work, and how often to train."""

    data: str = "../shared/data"
    """Folder that holds msrvtt/annotations and msrvtt/features."""
    work: str = "runs/muse-worlds"
    """Folder for data sets and runs; finished runs in it are taken as they are."""
    seeds: int = 3
    """Trainings of every row."""
    worlds: tuple[str, ...] = ("small-things", "msrvtt-800")
    """Which of the two to run."""


def main(argv: Sequence[str]) -> None:
    """Run what is missing, print rows and differences, and write each world's to benchmarks/results."""
    flags = parse(Flags, argv, "python -m benchmarks.muse_worlds")
    for world in (SMALL_THINGS, MSRVTT):
        if world.name in flags.worlds:
            _write(world, _run(world, flags), flags.seeds)


def _write(world: World, results: Results, seeds: int) -> None:
    differences = compare(world, results)
    numbers = versions("torch", "ray", "numpy")
    command = f"python -m benchmarks.muse_worlds --data ../shared/data --worlds {world.name}"
    origin = f"On {processor()}; {', '.join(f'{k} {v}' for k, v in numbers.items())}; `{command}`.\n"
    page = "\n".join([*_rows(world, results), "", *_claims(world, differences), "", origin])
    record = {
        "seeds": seeds,
        "figures": results.figures,
        "chance": results.chance,
        "differences": [asdict(one) | {"verdict": one.verdict} for one in differences],
        "machine": processor(),
        "versions": numbers,
        "command": command,
    }
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / f"muse_{world.name}.json").write_text(json.dumps(record, indent=1) + "\n")
    (RESULTS / f"muse_{world.name}.md").write_text(page)
    print(page)


def compare(world: World, results: Results) -> list[Difference]:
    """The world's claims, each as the difference in `world.compared` of runs with the same seed."""
    metric = f"{world.name}/{world.compared}"
    return [
        paired(better, worse, results.figures[better][metric], results.figures[worse][metric])
        for better, worse in world.claims
    ]


def _run(world: World, flags: Flags) -> Results:
    data, changes = _data(world, flags)
    test_sets = [TestSet(world.name, data["test"], "retrieval")]
    out = f"{flags.work}/{world.name}/runs"
    sweep = Sweep(out, data["train"], data["val"], test_sets, flags.seeds, "muse-worlds")
    for row, own in world.rows.items():
        sweep.run(row, override(preset(world.preset), {**changes, **own}))
    return read_results(out, list(world.rows), test_sets, flags.seeds)


def _data(world: World, flags: Flags) -> tuple[Mapping[str, str], Mapping[str, object]]:
    """The world's splits, made where they are not there yet, and what its size changes in the preset."""
    from pipelines.ingest import IngestFlags, ingest
    from vtr_core.data.sources.synthetic_tokens import SyntheticTokens

    folder = Path(flags.work) / world.name / "data"
    if world is MSRVTT:
        sets = videos(Path(flags.data), folder)
        return {"train": sets.train, "val": sets.val, "test": sets.test}, MSRVTT_CHANGES
    if not splits(str(folder)):
        ingest(SyntheticTokens(), IngestFlags(out=str(folder)))
    return splits(str(folder)), {}


def _rows(world: World, results: Results) -> list[str]:
    lines = [
        f"# MUSE on {world.name}: rows are changes of `{world.preset}`",
        "",
        f"| row | {' | '.join(METRICS.values())} | seeds |",
    ]
    lines.append(f"|---|{'---:|' * (len(METRICS) + 1)}")
    for row in world.rows:
        found = [estimate(results.figures[row][f"{world.name}/{metric}"]) for metric in METRICS]
        cells = [f"{one.mean:.1f} ± {one.deviation or 0:.1f}" for one in found]
        lines.append(f"| {row} | {' | '.join(cells)} | {found[0].seeds} |")
    chance = [results.chance.get(f"{world.name}/{metric}") for metric in METRICS]
    lines.append(f"| *chance* | {' | '.join('–' if one is None else f'{one:.1f}' for one in chance)} | |")
    return lines


def _claims(world: World, differences: Sequence[Difference]) -> list[str]:
    lines = [f"| better | than | {METRICS[world.compared]}, paired by seed | |", "|---|---|---:|---|"]
    for one in differences:
        half = one.difference.half_width
        interval = "" if half is None else f" ± {half:.1f}"
        lines.append(f"| {one.better} | {one.worse} | {one.difference.mean:+.1f}{interval} | {one.verdict} |")
    return lines


if __name__ == "__main__":
    main(sys.argv[1:])
