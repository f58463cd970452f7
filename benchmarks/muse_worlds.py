"""What MUSE's block and its scales are worth where it can be tried: a world of small things, and MSR-VTT's frames.

In the synthetic world of small things a patch or two decide what a caption tells; on MSR-VTT-800 frames are single
vectors, with scales in time. Every row is trained with the same seeds and compared with the others seed by seed; on
MSR-VTT-800 each row at the learning rate that finds most on validation videos:

    python -m benchmarks.muse_worlds --data ../shared/data
"""

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.comparison.rows import World, run_rows, search_rows, write
from benchmarks.msrvtt_dual.data import videos
from pipelines.arguments import parse
from vtr_core.data.manifest import splits

METRICS = {"t2v/r1": "R@1", "t2v/r5": "R@5", "t2v/r10": "R@10", "t2v/medr": "MedR", "t2v/meanr": "MeanR"}
MEAN = {"model.learner.kind": "none"}
SMALL_THINGS = World(
    "small-things",
    "MUSE on small-things",
    "muse-tokens-tiny",
    {
        "mean-pooling": {**MEAN, "model.scales": (1,)},
        "scales-1": {"model.scales": (1,)},
        "scales-1-4": {"model.scales": (1, 4)},
        "scales-1-2-4": {},
        "scales-1-2-4, LayerNorm after Mamba": {"model.norm": "after"},
    },
    (
        ("scales-1-2-4", "mean-pooling"),
        ("scales-1-2-4", "scales-1"),
        ("scales-1-2-4", "scales-1-4"),
        ("scales-1-2-4", "scales-1-2-4, LayerNorm after Mamba"),
    ),
    compared="t2v/r1",
    metrics=METRICS,
)
MSRVTT = World(
    "msrvtt-800",
    "MUSE on msrvtt-800",
    "muse-msrvtt-tiny",
    {
        "mean-pooling": {**MEAN, "model.temporal_scales": ()},
        "frames-1": {"model.temporal_scales": ()},
        "frames-1-2-4-8": {},
        "frames-1-2-4-8, LayerNorm after Mamba": {"model.norm": "after"},
    },
    (
        ("frames-1", "mean-pooling"),
        ("frames-1-2-4-8", "mean-pooling"),
        ("frames-1-2-4-8", "frames-1"),
        ("frames-1-2-4-8", "frames-1-2-4-8, LayerNorm after Mamba"),
        ("frames-1-2-4-8, LayerNorm after Mamba", "mean-pooling"),
    ),
    compared="t2v/r10",
    metrics=METRICS,
    note="The last comparison was added after its figures had been seen.",
    trials={f"rate {rate:g}": {"optimizer.learning_rate": rate} for rate in (4e-3, 8e-3, 1.6e-2, 3.2e-2)},
)
IN_PROCESS = {"scaling.workers": 0}
MSRVTT_CHANGES = {"training.epochs": 60, "training.validate_every": 5, **IN_PROCESS}


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
            data, changes = _data(world, flags)
            runs = f"{flags.work}/{world.name}/runs"
            arguments = (world, data, runs, flags.seeds, changes, "muse-worlds")
            results, searches = search_rows(*arguments) if world.trials else (run_rows(*arguments), {})
            command = f"python -m benchmarks.muse_worlds --data ../shared/data --worlds {world.name}"
            write(world, results, f"muse_{world.name}", command, searches)


def _data(world: World, flags: Flags) -> tuple[Mapping[str, str], Mapping[str, object]]:
    """The world's splits, made where they are not there yet, and what its size changes in the preset."""
    from pipelines.ingest.command import ingest
    from pipelines.ingest.ingest_options import IngestFlags
    from vtr_core.data.sources.synthetic import SyntheticTokens

    folder = Path(flags.work) / world.name / "data"
    if world is MSRVTT:
        sets = videos(Path(flags.data), folder)
        return {"train": sets.train, "val": sets.val, "test": sets.test}, MSRVTT_CHANGES
    if not splits(str(folder)):
        ingest(SyntheticTokens(), IngestFlags(out=str(folder), workers=0))
    return splits(str(folder)), IN_PROCESS


if __name__ == "__main__":
    main(sys.argv[1:])
