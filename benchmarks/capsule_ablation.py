"""Does the order of the paper's ablation hold? Tables 3 and 5, every row after the same search, in several worlds.

self-attention ≥ dynamic > none, and capsules > fully connected (Duarte et al., section 4.4). Every row is trained with
each setting of `TRIALS`, seed 0; the setting that finds most on validation data is trained with the other seeds, and
all seeds are judged on test data, row against row, seed by seed:

    python -m benchmarks.capsule_ablation [--worlds plain "8 scenes"] [--only routing-em]

Iterative routings and the set transformer project their secondary poses (Eq. 3 with x̂). Where a routing allows it, the
preset projects the primary ones; rows `…-secondary` are those routings with secondary poses, so that all routings are
compared under one reading of Eq. 3. Rows `…-sum` have iterations as published, whose couplings and responsibilities
are sharp from the start; the variants take means over the components. Rows that are not asked for stay on the page,
and trials that it has are not run again, unless ``--again`` says so: a search that is widened trains what is new.

All at a proxy's size, the preset `capsule-howto-tiny` and its variants for a few hundred steps, so that every row's
search takes minutes.
"""

import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from typing import Any

from benchmarks.comparison.paired import Difference, paired, plus_minus
from benchmarks.comparison.search import Figures, Searched, search
from benchmarks.machine import processor, versions
from benchmarks.report.pages import RESULTS, numbered, page_folder, write_page
from benchmarks.worlds import LITTLE_NOISE, Maker, Place, Splits, avletters, msrvtt_clips, synthetic, vidrel
from pipelines.arguments import parse
from pipelines.tables.runs import Sweep, TestSet, read_results
from vtr_core.config.override import override
from vtr_core.metrics.intervals import estimate
from vtr_core.run.config import TrainConfig
from vtr_core.run.presets import preset

PRESET = "capsule-howto-tiny"


@dataclass(frozen=True)
class Network:
    """A row of Tables 3 and 5: which variant of the preset, with which changes."""

    description: str
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
    "routing-em-sum": Network("EM, as published", "routing-em", {"model.routing.components": "sum"}),
    "routing-set-transformer": Network("set transformer (16.5, 40.0)", "routing-set-transformer"),
    "routing-self-attention": Network("self-attention (18.6, 44.0)", "routing-self-attention"),
    "routing-self-attention-secondary": Network(
        "self-attention, secondary poses", "routing-self-attention", _SECONDARY
    ),
    "fully-connected": Network("fully connected, no capsules (15.5, 40.0)", "fully-connected"),
    "self-attention": Network("self-attention over tokens, no capsules (13.8, 36.2)", "self-attention"),
    "base": Network("capsules of the base preset (19.3, 47.3)"),
    "base-carried": Network(
        "the base preset, presence carried, γ = 2", changes={"model.routing.carried_presence": 2.0}
    ),
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
    for rate in (3e-4, 1e-3, 3e-3, 1e-2)
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
    ("base-carried", "base"),
)
"""(better, worse) as the paper has it, and what this project adds to it."""


def compare(figures: Mapping[str, Sequence[float]]) -> list[Difference]:
    """The paired differences of every claim that has figures; the same seed has the same batches in both rows."""
    pairs = [(a, b, figures.get(a, ()), figures.get(b, ())) for a, b in CLAIMS]
    return [paired(a, b, u, v) for a, b, u, v in pairs if u and v]


@dataclass(frozen=True)
class World:
    """Data with the splits train, val and test, how every row is trained on it, and which figures are shown."""

    make: Maker
    description: str
    """For the page."""
    changes: Mapping[str, object] = field(default_factory=dict)
    direction: str = "t2v"
    """Retrieval that rows are chosen and judged by."""

    @property
    def shown(self) -> Sequence[str]:
        """The metrics of the page; the last one chooses and judges."""
        return (f"{self.direction}/r1", f"{self.direction}/r10")


VIDREL_SHARES = {"train": 0.6, "val": 0.2, "test": 0.2}


def _real(videos: int, epochs: int, dropout: float, direction: str = "t2v") -> Mapping[str, object]:
    """Settings for a few hundred clips: a batch of one clip a video, a validation every 40 steps that chooses."""
    return {
        "batch.videos": videos,
        "batch.clips_per_video": 1,
        "model.input_dropout": dropout,
        "training.validate_every": epochs,
        "training.metric": f"val/{direction}/r10",
    }


_SCENES = "What a feature means depends on the clip's scene, of which there are"
WORLDS: Mapping[str, World] = {
    "plain": World(synthetic({}), "The default synthetic world."),
    "8 scenes": World(synthetic({"scenes": 8, **LITTLE_NOISE}), f"{_SCENES} 8; with less noise than by default."),
    "64 scenes": World(synthetic({"scenes": 64, **LITTLE_NOISE}), f"{_SCENES} 64; with less noise than by default."),
    "MSR-VTT-800": World(
        msrvtt_clips,
        "MSR-VTT's first 800 videos with 128-d frame features: 532 train, 72 choose, single captions search among 196.",
        _real(128, 10, 0.5),
    ),
    "AVLetters": World(
        avletters,
        "Lips and MFCC of spoken letters: 260 utterances train; of the 260 second ones, five speakers' choose and five "
        "speakers' are tested, video → audio. The speakers are those of training.",
        _real(128, 20, 0.3, "v2a"),
        "v2a",
    ),
    "vidrel": World(
        partial(vidrel, shares=VIDREL_SHARES),
        "Short clips with ResNet-152 and C3D features and a caption of three words: 212 train, 66 choose, 69 are "
        "tested; several have the same caption.",
        _real(60, 10, 0.3),
    ),
}
"""By the names of the page. Worlds with scenes have less noise than the default one, in which no row learns scenes."""


def search_row(
    row: str, known: Searched | None, world: World, data: Splits, out: str, steps: int, seeds: int
) -> Searched:
    """All trials with seed 0, and the best one with every seed.

    known: the row after a search with the same steps, whose trials and seeds are not trained again.
    """
    chosen_by = f"val/{world.shown[-1]}"

    def train(trial: str, count: int) -> Figures:
        figures = known_figures(known, trial, count, chosen_by) if known else {}
        variant = f"{row}/{trial.replace(', ', '-')}"
        return figures or _trained(variant, row_config(row, trial, world, steps), data, out, count)

    searched = search(TRIALS, chosen_by, seeds, train)
    return replace(searched, figures={name: searched.figures[f"test/{name}"] for name in world.shown})


def known_figures(known: Searched, trial: str, seeds: int, chosen_by: str) -> Figures:
    """A trial's figures as far as `known` has all that `search` asks for with so many seeds, or more; else none."""
    if trial == known.best and all(len(values) >= seeds for values in known.figures.values()):
        return {chosen_by: (known.trials[trial],)} | {f"test/{name}": values for name, values in known.figures.items()}
    return {chosen_by: (known.trials[trial],)} if seeds == 1 and trial in known.trials else {}


def _trained(variant: str, config: TrainConfig, data: Splits, out: str, seeds: int) -> Figures:
    """The figures of `seeds` trainings on validation and test data; finished ones are taken as they are."""
    sets = [TestSet(split, data[split], "retrieval") for split in ("val", "test")]
    Sweep(out, data["train"], data["val"], sets, seeds, "capsule-ablation").run(variant, config)
    return read_results(out, [variant], sets, seeds).figures[variant]


def row_config(row: str, trial: str, world: World, steps: int) -> TrainConfig:
    """A variant of the preset with a world's and a trial's settings, trained in this process."""
    fixed = {"scaling.workers": 0, "training.epochs": 1000, "training.max_steps": steps}
    rare = {"training.validate_every": 1000, "training.log_every": 50}
    network = ROWS[row]
    base = preset(f"{PRESET}-{network.variant}" if network.variant else PRESET)
    return override(base, {**fixed, **rare, **world.changes, **network.changes, **TRIALS[trial]})


COMMAND = "python -m benchmarks.capsule_ablation"


@dataclass(frozen=True)
class Flags:
    """How large, how often, and where to work."""

    work: str = "runs/capsule-ablation"
    """Folder for data sets and runs; finished runs in it are taken as they are."""
    data: str = "../shared/data"
    """Folder of real data, for MSR-VTT-800, AVLetters and vidrel."""
    clips: int = 6000
    """Of each synthetic world."""
    steps: int = 200
    """Of every training."""
    seeds: int = 3
    """Trainings of every row at its best setting."""
    worlds: tuple[str, ...] = ("plain", "8 scenes")
    """Which of them: plain, 8 scenes, 64 scenes, MSR-VTT-800, AVLetters, vidrel."""
    only: tuple[str, ...] = ()
    """Rows to measure (default: all)."""
    again: bool = False
    """Take no trial and no seed from the page (finished runs in --work are still taken)."""
    out: str = str(RESULTS)
    """Folder of the page, whose other rows are kept."""


def main(argv: Sequence[str]) -> None:
    """Run what is missing, world by world, and write the page of the rows that are finished after each world."""
    flags = parse(Flags, argv, COMMAND)
    place = page_folder(flags.out) / "capsule_ablation.json"
    before = json.loads(place.read_text()) if place.exists() else {}
    worlds = known(before, flags)
    machines = [*dict.fromkeys([*(before.get("machines", ()) if worlds else ()), processor()])]
    settings = asdict(flags) | {"machines": machines, "versions": versions("torch", "numpy")}
    for name in flags.worlds:
        worlds[name] = _in_order(worlds.get(name, {}) | measure(name, worlds.get(name, {}), flags))
        worlds = {world: worlds[world] for world in WORLDS if world in worlds}
        figures = {world: {row: asdict(search) for row, search in rows.items()} for world, rows in worlds.items()}
        page = markdown(worlds, flags.steps, COMMAND, machines)
        write_page(place.parent, place.stem, settings | {"worlds": figures}, page)
    print(place.with_suffix(".md").read_text())


def known(page: Mapping[str, Any], flags: Flags) -> dict[str, dict[str, Searched]]:
    """By world the rows of an earlier page with the same size, without those that are to be measured again.

    Its trials are known by their names: after a change of what a name stands for, they need ``--again``.
    """
    if any(page.get(name) != getattr(flags, name) for name in ("clips", "steps")):
        return {}
    again = (flags.only or tuple(ROWS)) if flags.again else ()
    worlds: Mapping[str, Mapping[str, Any]] = page["worlds"]
    return {
        world: {name: Searched(**row) for name, row in rows.items() if world not in flags.worlds or name not in again}
        for world, rows in worlds.items()
    }


def measure(name: str, known: Mapping[str, Searched], flags: Flags) -> dict[str, Searched]:
    """The rows of a world that are asked for."""
    folder, world = f"{flags.work}/{name.replace(' ', '-')}", WORLDS[name]
    data = world.make(Place(folder, flags.data, flags.clips))
    return {
        row: search_row(row, known.get(row), world, data, f"{folder}/runs", flags.steps, flags.seeds)
        for row in flags.only or ROWS
    }


def _in_order(rows: Mapping[str, Searched]) -> dict[str, Searched]:
    return {name: rows[name] for name in ROWS if name in rows}


def markdown(worlds: Mapping[str, Mapping[str, Searched]], steps: int, command: str, machines: Sequence[str]) -> str:
    """The page of the finished rows by world, measured on `machines`."""
    lines = [
        "# The capsule paper's ablation, every row after the same search",
        "",
        f"Variants of `{PRESET}` (routings: 16 capsules, d1 = d2 = 16), {steps} steps of 128 clips (vidrel: 60): a "
        f"proxy, not the published size. {len(TRIALS)} settings once each, the best on validation data with several "
        "seeds. R@1 and R@10 in percent of unseen clips; in brackets the paper's on YouCook2. In synthetic worlds the "
        "last weights are judged, on real data those of the best validation. Rows: mean over seeds ± half of its 95 % "
        "t interval; differences: ± half of a 95 % t interval, paired by seed.",
    ]
    for name, rows in worlds.items():
        lines += [
            "",
            f"## {name}",
            "",
            WORLDS[name].description,
            "",
            *_row_lines(name, rows),
            "",
            *_claim_lines(name, rows),
        ]
    again = "with `--worlds` and `--seeds` for each (`--again`, with a new `--work`, measures all anew)"
    origin = f"On {'; '.join(machines)}; {numbered(versions('torch', 'numpy'))}; `{command}`, {again}."
    return "\n".join([*lines, "", origin]) + "\n"


def _row_lines(world: str, rows: Mapping[str, Searched]) -> list[str]:
    head = f"| row | seeds | R@1 | R@10 | its setting | R@10 on validation data of {'; '.join(TRIALS)} |"
    lines = [head, "|---|---:|---:|---:|---|---|"]
    for name, row in rows.items():
        first, ten = (_figure(row.figures[metric]) for metric in WORLDS[world].shown)
        tried = "; ".join(f"{row.trials[trial]:.1f}" if trial in row.trials else "–" for trial in TRIALS)
        seeds = len(row.figures[WORLDS[world].shown[-1]])
        lines.append(f"| {ROWS[name].description} | {seeds} | {first} | **{ten}** | {row.best} | {tried} |")
    missing = [f"| {network.description} | not run | | | | |" for name, network in ROWS.items() if name not in rows]
    return [*lines, *missing]


def _figure(values: Sequence[float]) -> str:
    mean = estimate(values)
    return f"{mean.mean:.1f}{plus_minus(mean.half_width)}"


def _claim_lines(world: str, rows: Mapping[str, Searched]) -> list[str]:
    differences = compare({name: row.figures[WORLDS[world].shown[-1]] for name, row in rows.items()})
    lines = [
        f"| {pair.better} − {pair.worse} | {pair.difference.mean:+.1f}{plus_minus(pair.difference.half_width)} "
        f"| {pair.verdict} |"
        for pair in differences
    ]
    head = "| R@10: the paper's order, means − sums over components, and carried presence | here | |"
    return [head, "|---|---:|---|", *lines]


if __name__ == "__main__":
    main(sys.argv[1:])
