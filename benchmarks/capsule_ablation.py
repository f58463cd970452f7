"""Does the order of the paper's ablation hold on what is at hand? Tables 3 and 5 on a synthetic world and on MSR-VTT.

self-attention ≥ dynamic > none, and capsules > fully connected (Duarte et al., section 4.4). Every row is trained with
several seeds through the product (`vtr tables capsules`) and compared with the others seed by seed:

    python -m benchmarks.capsule_ablation --data ../shared/data

Dynamic, EM and set transformer routing give f_out the routed poses. The small presets give it the primary poses where a
routing keeps capsules one to one; rows named "routed-poses" are these routings without that.
"""

import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from benchmarks.comparison.paired import Difference, paired
from benchmarks.machine import processor, versions
from benchmarks.msrvtt_ridge import allowed_text, msrvtt, prepare
from pipelines.arguments import parse
from pipelines.tables.runs import Sweep, TestSet, read_results
from vtr_core.config.override import override
from vtr_core.data.manifest import Manifest, splits
from vtr_core.run.presets import preset
from vtr_core.systems.capsules.tables.command import TablesFlags, tables
from vtr_core.tables.interval import estimate

RESULTS = Path(__file__).parent / "results"
CLAIMS = (
    ("routing-self-attention", "routing-dynamic"),
    ("routing-dynamic", "routing-none"),
    ("routing-self-attention", "routing-none"),
    ("routing-self-attention", "routing-set-transformer"),
    ("routing-self-attention", "routing-em"),
    ("routing-self-attention-routed-poses", "routing-dynamic"),
    ("routing-dynamic", "routing-none-routed-poses"),
    ("routing-self-attention-routed-poses", "routing-none-routed-poses"),
    ("", "fully-connected"),
    ("", "self-attention"),
)
"""(better, worse) as the paper has it; "" is the base preset."""
ROUTED_POSES = {
    "routing-none-routed-poses": "routing-none",
    "routing-self-attention-routed-poses": "routing-self-attention",
}
METRIC = "t2v/r10"
NUM_CLIPS = 15_000
"""Of the synthetic world: enough that routed poses, which overfit on fewer, learn something that generalises."""


@dataclass(frozen=True)
class Flags:
    """Where the data is, where to work, and how often to train."""

    data: str = "../shared/data"
    """Folder that holds msrvtt/annotations and msrvtt/features."""
    work: str = "runs/capsule-ablation"
    """Folder for data sets and runs; finished runs in it are taken as they are."""
    seeds: int = 5
    """Trainings of every row."""
    worlds: tuple[str, ...] = ("synthetic", "msrvtt-800")
    """Which of the two to run."""


@dataclass(frozen=True)
class World:
    """A data set with its splits, and the preset whose variants, with some changes, are trained on it."""

    name: str
    preset: str
    changes: Mapping[str, object]
    train: str
    validation: str
    test: str


def main(argv: Sequence[str]) -> None:
    """Run what is missing, print the tables and the differences, and write them to benchmarks/results."""
    flags = parse(Flags, argv, "python -m benchmarks.capsule_ablation")
    pages = ["# The capsule paper's ablation on data at hand", ""]
    figures: dict[str, object] = {
        "seeds": flags.seeds,
        "machine": processor(),
        "versions": versions("torch", "ray", "numpy"),
        "command": "python -m benchmarks.capsule_ablation --data ../shared/data",
    }
    for name in flags.worlds:
        world = _synthetic(Path(flags.work)) if name == "synthetic" else _msrvtt(Path(flags.work), Path(flags.data))
        out = f"{flags.work}/{world.name}/runs"
        page = tables(_tables_flags(world, out, flags.seeds), world.changes)
        found = json.loads(Path(out, "tables.json").read_text())["figures"] | _routed_poses(world, out, flags.seeds)
        differences = compare(found, f"{world.name}/{METRIC}")
        figures[world.name] = {"figures": found, "differences": [asdict(one) for one in differences]}
        rows = _row_lines(found, f"{world.name}/{METRIC}")
        pages += [f"# {world.name}", page.partition("\n")[2], *rows, "", *_difference_lines(differences), ""]
    numbers = ", ".join(f"{name} {number}" for name, number in versions("torch", "ray").items())
    pages.append(f"On {processor()}; {numbers}; `{figures['command']}`.\n")
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / "capsule_ablation.json").write_text(json.dumps(figures, indent=1) + "\n")
    (RESULTS / "capsule_ablation.md").write_text("\n".join(pages))
    print("\n".join(pages))


def _tables_flags(world: World, out: str, seeds: int) -> TablesFlags:
    return TablesFlags(
        only=(3, 5),
        preset=world.preset,
        data=world.train,
        validation=world.validation,
        test=(f"{world.name}={world.test}",),
        seeds=seeds,
        out=out,
        experiment="capsule-ablation",
    )


def _routed_poses(world: World, out: str, seeds: int) -> dict[str, dict[str, tuple[float, ...]]]:
    """Figures of the rows whose presets project the primary poses, when they project the routed ones."""
    test_sets = [TestSet(world.name, world.test, "retrieval")]
    sweep = Sweep(out, world.train, world.validation, test_sets, seeds, "capsule-ablation")
    for row, variant in ROUTED_POSES.items():
        changes = {**world.changes, "model.projected_poses": "secondary"}
        sweep.run(row, override(preset(f"{world.preset}-{variant}"), changes))
    found = read_results(out, list(ROUTED_POSES), test_sets, seeds).figures
    return {row: dict(figures) for row, figures in found.items()}


def _row_lines(figures: Mapping[str, Mapping[str, Sequence[float]]], metric: str) -> list[str]:
    """Every row with its mean and standard deviation over the seeds, the best first."""
    found = {row or "base": estimate(values[metric]) for row, values in figures.items() if values.get(metric)}
    ordered = sorted(found.items(), key=lambda item: -item[1].mean)
    lines = [f"| {row} | {e.mean:.1f} | {e.deviation or 0:.1f} | {e.seeds} |" for row, e in ordered]
    return [f"| {METRIC} | mean | standard deviation | seeds |", "|---|---:|---:|---:|", *lines]


def _synthetic(work: Path) -> World:
    from pipelines.ingest.command import IngestFlags, ingest
    from vtr_core.data.sources.synthetic.clips import Synthetic

    data = str(work / "synthetic" / "data")
    if not splits(data):
        ingest(Synthetic(num_clips=NUM_CLIPS), IngestFlags(out=data))
    changes = {"scaling.workers": 1, "optimizer.learning_rate": 1e-3, "optimizer.warmup_steps": 40}
    return World("synthetic", "capsule-howto-tiny", changes, f"{data}/train", f"{data}/val", f"{data}/test")


def _msrvtt(work: Path, data: Path) -> World:
    folder = work / "msrvtt-800"
    made = splits(str(folder / "data"))
    if not made:
        source = msrvtt(data)
        sets: Mapping[str, Manifest] = prepare(source, allowed_text(source, 0), folder, 0)
        made = {split: manifest.uri for split, manifest in sets.items()}
    return World("msrvtt-800", "capsule-msrvtt", {"scaling.workers": 1}, made["train"], made["val"], made["test"])


def compare(figures: Mapping[str, Mapping[str, Sequence[float]]], metric: str) -> list[Difference]:
    """The paired differences of every claim that has figures; the same seed has the same batches in both rows."""
    pairs = [(a, b, figures.get(a, {}).get(metric, ()), figures.get(b, {}).get(metric, ())) for a, b in CLAIMS]
    return [paired(a, b, u, v) for a, b, u, v in pairs if u and v]


def _difference_lines(differences: Sequence[Difference]) -> list[str]:
    rows = [
        f"| {one.better or 'base'} − {one.worse} | {one.difference.mean:+.1f} ± {one.difference.half_width or 0:.1f} "
        f"| {one.verdict} |"
        for one in differences
    ]
    return [f"Differences in {METRIC}, paired by seed:", "", "| the paper's order | here | |", "|---|---:|---|", *rows]


if __name__ == "__main__":
    main(sys.argv[1:])
