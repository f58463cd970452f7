"""Does the order of the paper's ablation hold? Tables 3 and 5, every row after the same search, in synthetic worlds.

self-attention ≥ dynamic > none, and capsules > fully connected (Duarte et al., section 4.4). Every row is trained with
each setting of `TRIALS`, seed 0; the setting that finds most on validation data is trained with the other seeds, and
all seeds are judged on test data, row against row, seed by seed:

    python -m benchmarks.capsule_ablation [--worlds plain "8 scenes"] [--only routing-em]

Iterative routings and the set transformer project their secondary poses (Eq. 3 with x̂). Where a routing allows it, the
preset projects the primary ones; rows `…-secondary` are those routings with secondary poses, so that all routings are
compared under one reading of Eq. 3. Rows `…-sum` have iterations as published, whose couplings and responsibilities
are sharp from the start; the variants take means over the components. Rows that are not asked for stay on the page.

All at a proxy's size, the preset `capsule-howto-tiny` and its variants for a few hundred steps, so that every row's
search takes minutes. In the worlds with scenes a clip's scene decides what its features mean.
"""

import json
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.comparison.paired import Difference, paired
from benchmarks.machine import processor, versions
from benchmarks.report.pages import page_folder, write_page
from pipelines.arguments import parse
from pipelines.tables.runs import Sweep, TestSet, read_results
from vtr_core.config.override import override
from vtr_core.data.manifest import splits
from vtr_core.run.config import TrainConfig
from vtr_core.run.presets import preset
from vtr_core.tables.interval import estimate

RESULTS = Path(__file__).parent / "results"
PRESET = "capsule-howto-tiny"
COMMAND = "python -m benchmarks.capsule_ablation"
METRIC = "t2v/r10"
SHOWN = ("t2v/r1", METRIC)


@dataclass(frozen=True)
class Network:
    """A row of Tables 3 and 5: which variant of the preset, with which changes."""

    what: str
    """With the paper's R@1 and R@10 on YouCook2 in brackets."""
    variant: str = ""
    changes: Mapping[str, object] = field(default_factory=dict)


_SECONDARY = {"model.projected_poses": "secondary"}
ROWS: Mapping[str, Network] = {
    "routing-none": Network("no routing (15.3, 41.9)", "routing-none"),
    "routing-none-secondary": Network("no routing, secondary poses", "routing-none", _SECONDARY),
    "routing-dynamic": Network("dynamic (17.0, 44.3)", "routing-dynamic"),
    "routing-dynamic-sum": Network(
        "dynamic, agreement summed as published", "routing-dynamic", {"model.routing.agreement": "sum"}
    ),
    "routing-em": Network("EM (5.8, 24.2)", "routing-em"),
    "routing-em-sum": Network("EM, density summed as published", "routing-em", {"model.routing.density": "sum"}),
    "routing-set-transformer": Network("set transformer (16.5, 40.0)", "routing-set-transformer"),
    "routing-self-attention": Network("self-attention (18.6, 44.0)", "routing-self-attention"),
    "routing-self-attention-secondary": Network(
        "self-attention, secondary poses", "routing-self-attention", _SECONDARY
    ),
    "fully-connected": Network("fully connected, no capsules (15.5, 40.0)", "fully-connected"),
    "self-attention": Network("self-attention over tokens, no capsules (13.8, 36.2)", "self-attention"),
    "base": Network("capsules of the base preset (19.3, 47.3)"),
}
"""By name, in the order of Tables 3 and 5."""
TRIALS: Mapping[str, Mapping[str, object]] = {
    f"{weights}, {rate:g}": {
        "model.initialization": weights,
        "optimizer.learning_rate": rate,
        "optimizer.warmup_steps": 20,
        "optimizer.gradient_clip": 5.0,
    }
    for weights in ("scaled", "torch")
    for rate in (1e-3, 3e-3)
}
"""What every row's search tries: initial weights and learning rate."""
CLAIMS = (
    ("routing-self-attention", "routing-dynamic"),
    ("routing-dynamic", "routing-none"),
    ("routing-self-attention", "routing-none"),
    ("routing-self-attention", "routing-set-transformer"),
    ("routing-self-attention", "routing-em"),
    ("routing-self-attention-secondary", "routing-dynamic"),
    ("routing-dynamic", "routing-none-secondary"),
    ("routing-self-attention-secondary", "routing-none-secondary"),
    ("routing-self-attention-secondary", "routing-set-transformer"),
    ("routing-self-attention-secondary", "routing-em"),
    ("routing-dynamic", "routing-dynamic-sum"),
    ("routing-em", "routing-em-sum"),
    ("base", "fully-connected"),
    ("base", "self-attention"),
)
"""(better, worse) as the paper has it."""
_QUIET = {"noise": 0.3, "style": 0.5, "misalignment": 0.0, "mention": 0.9}
WORLDS: Mapping[str, Mapping[str, float]] = {
    "plain": {},
    "8 scenes": {"scenes": 8, **_QUIET},
    "64 scenes": {"scenes": 64, **_QUIET},
}
"""How a world differs from the default one, in whose noise no row learns what scenes do."""


@dataclass(frozen=True)
class Flags:
    """How large, how often, and where to work."""

    work: str = "runs/capsule-ablation"
    """Folder for data sets and runs; finished runs in it are taken as they are."""
    clips: int = 6000
    """Of each world."""
    steps: int = 200
    """Of every training."""
    seeds: int = 3
    """Trainings of every row at its best setting."""
    worlds: tuple[str, ...] = ("plain", "8 scenes")
    """Which of them: plain, 8 scenes, 64 scenes."""
    only: tuple[str, ...] = ()
    """Rows to measure (default: all)."""
    minutes: float = 1e9
    """No training is begun after so many; the same command goes on, and the page names the rows that are left."""
    out: str = str(RESULTS)
    """Folder of the page, whose other rows are kept."""


@dataclass(frozen=True)
class Row:
    """A row after its search: what each trial found on validation data, which one was best, its seeds' test figures."""

    trials: Mapping[str, float]
    best: str
    figures: Mapping[str, Sequence[float]]
    """Of SHOWN, on test data by seed."""


class OutOfTime(Exception):
    """The minutes are over."""


def main(argv: Sequence[str]) -> None:
    """Run what is missing, as far as the minutes reach, and write the page of the rows that are finished."""
    flags = parse(Flags, argv, COMMAND)
    place = page_folder(flags.out) / "capsule_ablation.json"
    until = time.monotonic() + 60 * flags.minutes
    kept = known(json.loads(place.read_text()) if place.exists() else {}, flags)
    measured = {name: _world(name, flags, until) for name in flags.worlds}
    found = {
        name: _in_order(kept.get(name, {}) | measured.get(name, {})) for name in WORLDS if name in {*kept, *measured}
    }
    if not any(found.values()):
        print("time is over before a row was finished; the same command goes on")
        return
    figures = {name: {row: asdict(one) for row, one in rows.items()} for name, rows in found.items()}
    settings = asdict(flags) | {"machine": processor(), "versions": versions("torch", "numpy")}
    page = markdown(found, flags)
    write_page(place.parent, place.stem, settings | {"worlds": figures}, page)
    print(page)


def known(page: Mapping[str, Any], flags: Flags) -> dict[str, dict[str, Row]]:
    """By world the rows of an earlier page with the same size, without those that are to be measured."""
    if any(page.get(name) != getattr(flags, name) for name in ("clips", "steps")):
        return {}
    again = flags.only or tuple(ROWS)
    worlds: Mapping[str, Mapping[str, Any]] = page["worlds"]
    return {
        world: {name: Row(**row) for name, row in rows.items() if world not in flags.worlds or name not in again}
        for world, rows in worlds.items()
    }


def _in_order(rows: Mapping[str, Row]) -> dict[str, Row]:
    return {name: rows[name] for name in ROWS if name in rows}


def _world(name: str, flags: Flags, until: float) -> dict[str, Row]:
    """The rows that are asked for and finished, or are when the minutes are over."""
    folder = f"{flags.work}/{name.replace(' ', '-')}"
    data = _data(f"{folder}/data", WORLDS[name], flags.clips)
    found = {}
    for row in flags.only or ROWS:
        with suppress(OutOfTime):
            found[row] = search(row, data, f"{folder}/runs", flags, until)
    return found


def _data(folder: str, world: Mapping[str, float], clips: int) -> str:
    from pipelines.ingest.command import ingest
    from pipelines.ingest.flags import IngestFlags
    from vtr_core.data.sources.synthetic.clips import Synthetic

    if not splits(folder):
        ingest(Synthetic.model_validate({**world, "num_clips": clips}), IngestFlags(out=folder))
    return folder


def search(row: str, data: str, out: str, flags: Flags, until: float) -> Row:
    """All trials with seed 0, and the best one with every seed; OutOfTime where one would begin after `until`."""

    def train(trial: str, seeds: int) -> Mapping[str, Sequence[float]]:
        variant = f"{row}/{trial.replace(', ', '-')}"
        done = Path(out, variant, f"seed-{seeds - 1}", "figures-test.json").exists()
        if not done and time.monotonic() > until:
            raise OutOfTime
        return _trained(variant, row_config(row, trial, flags.steps), data, out, seeds)

    trials = {trial: train(trial, 1)[f"val/{METRIC}"][0] for trial in TRIALS}
    best = max(trials, key=lambda trial: trials[trial])
    figures = [train(best, count) for count in range(1, flags.seeds + 1)][-1]
    return Row(trials, best, {name: figures[f"test/{name}"] for name in SHOWN})


def _trained(variant: str, config: TrainConfig, data: str, out: str, seeds: int) -> Mapping[str, Sequence[float]]:
    """The figures of `seeds` trainings on validation and test data; finished ones are taken as they are."""
    sets = [TestSet(split, f"{data}/{split}", "retrieval") for split in ("val", "test")]
    Sweep(out, f"{data}/train", f"{data}/val", sets, seeds, "capsule-ablation").run(variant, config)
    return read_results(out, [variant], sets, seeds).figures[variant]


def row_config(row: str, trial: str, steps: int) -> TrainConfig:
    """A variant of the preset with a trial's settings, trained in this process."""
    fixed = {"scaling.workers": 0, "training.epochs": 1000, "training.max_steps": steps}
    rare = {"training.validate_every": 1000, "training.log_every": 50}
    network = ROWS[row]
    base = preset(f"{PRESET}-{network.variant}" if network.variant else PRESET)
    return override(base, {**fixed, **rare, **network.changes, **TRIALS[trial]})


def compare(figures: Mapping[str, Sequence[float]]) -> list[Difference]:
    """The paired differences of every claim that has figures; the same seed has the same batches in both rows."""
    pairs = [(a, b, figures.get(a, ()), figures.get(b, ())) for a, b in CLAIMS]
    return [paired(a, b, u, v) for a, b, u, v in pairs if u and v]


def markdown(worlds: Mapping[str, Mapping[str, Row]], flags: Flags) -> str:
    """The page: for every world the rows, their searches and the paper's claims."""
    lines = [
        "# The capsule paper's ablation, every row after the same search",
        "",
        f"Variants of `{PRESET}` (routings: 16 capsules, d1 = d2 = 16), {flags.steps} steps of 128 clips: a proxy, not "
        f"the published size. {len(TRIALS)} settings once each, the best on validation data with several seeds. "
        "R@1 and R@10 in percent of unseen clips, text to video; in brackets the paper's on YouCook2.",
    ]
    for name, rows in worlds.items():
        lines += ["", f"## {name}", "", *_row_lines(rows), "", *_claim_lines(rows)]
    numbers = ", ".join(f"{name} {number}" for name, number in versions("torch", "numpy").items())
    return "\n".join([*lines, "", f"On {processor()}; {numbers}; `{COMMAND}`."]) + "\n"


def _row_lines(rows: Mapping[str, Row]) -> list[str]:
    head = f"| row | seeds | R@1 | R@10 | its setting | R@10 on validation data of {'; '.join(TRIALS)} |"
    lines = [head, "|---|---:|---:|---:|---|---|"]
    for name, row in rows.items():
        first, ten = (_figure(row.figures[metric]) for metric in SHOWN)
        tried = "; ".join(f"{value:.1f}" for value in row.trials.values())
        seeds = len(row.figures[METRIC])
        lines.append(f"| {ROWS[name].what} | {seeds} | {first} | **{ten}** | {row.best} | {tried} |")
    missing = [f"| {network.what} | not run | | | | |" for name, network in ROWS.items() if name not in rows]
    return [*lines, *missing]


def _figure(values: Sequence[float]) -> str:
    found = estimate(values)
    return f"{found.mean:.1f}" + ("" if found.half_width is None else f" ± {found.half_width:.1f}")


def _claim_lines(rows: Mapping[str, Row]) -> list[str]:
    differences = compare({name: row.figures[METRIC] for name, row in rows.items()})
    lines = [
        f"| {one.better} − {one.worse} | {one.difference.mean:+.1f} ± {one.difference.half_width or 0:.1f} "
        f"| {one.verdict} |"
        for one in differences
    ]
    return ["| R@10: the paper's order, and means − sums over components | here | |", "|---|---:|---|", *lines]


if __name__ == "__main__":
    main(sys.argv[1:])
