"""What each system's central mechanism is worth: switched off at test time, and trained without.

Every mechanism is one row: its preset is trained with some seeds, evaluated as it is and without the mechanism, and
trained anew without it, on the data where the mechanism should matter. Runs that are finished are taken as they are,
interrupted ones go on, and the page keeps the rows that were measured before:

    python -m benchmarks.knock_outs --data ../shared/data --seeds 5 --only muse-scale-4
"""

import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from benchmarks.comparison.paired import plus_minus
from benchmarks.machine import processor, versions
from benchmarks.report.pages import RESULTS, page_folder, write_page
from benchmarks.worlds import (
    LITTLE_NOISE,
    NAMED_SCENES,
    ROUTING_BY_SCENE,
    Maker,
    Place,
    att_faces,
    msrvtt_clips,
    msrvtt_videos,
    rotations,
    small_things,
    synthetic,
)
from pipelines.arguments import parse
from pipelines.evaluate.evaluation_flags import EvaluateFlags
from pipelines.evaluate.retrieval import evaluate
from pipelines.systems.captioning.caption_metrics import evaluate as describe
from pipelines.systems.captioning.evaluate_captions import CaptioningFlags
from pipelines.systems.siamese.face_verification import VerificationFlags
from pipelines.systems.siamese.face_verification import evaluate as verify
from pipelines.tables.runs import Sweep, TestSet
from vtr_core import storage
from vtr_core.config.override import override
from vtr_core.metrics.intervals import estimate
from vtr_core.run.presets import preset
from vtr_core.storage import locate

Changes = Mapping[str, Any]


@dataclass(frozen=True)
class Mechanism:
    """One row: what is switched off, how, and by which figure it is judged."""

    preset: str
    world: str
    """A name of WORLDS."""
    description: str
    metric: str
    """Of the evaluation, such as t2v/r1; in percent."""
    heading: str
    off: str | None = None
    """The figures without it at test time: `without_<--knock-out>`, or the space that is left of a dual encoder."""
    without: Changes | None = None
    """What trains the preset without it; None where that has no meaning."""
    changes: Changes = field(default_factory=dict)
    """Of the preset in all runs of the row."""

    @property
    def knock_out(self) -> tuple[str, ...]:
        """What `vtr evaluate --knock-out` is asked for."""
        return (self.off.removeprefix("without_"),) if self.off and self.off.startswith("without_") else ()


WORLDS: Mapping[str, Maker] = {
    "8-scenes": synthetic({"scenes": 8, **LITTLE_NOISE}),
    "8-named-scenes": synthetic(NAMED_SCENES),
    "64-rotations": rotations,
    "small-things": small_things,
    "msrvtt-800": msrvtt_videos,
    "msrvtt-800-clips": msrvtt_clips,
    "att-faces": att_faces,
}
_SMALL_MSRVTT: Changes = {"training.epochs": 60, "training.validate_every": 5}
_STEPS: Changes = {
    "batch.videos": 128,
    "training.epochs": 1000,
    "training.max_steps": 220,
    "training.validate_every": 1000,
}
_ROTATED: Changes = {
    "batch.videos": 256,
    "batch.clips_per_video": 1,
    "training.epochs": 1000,
    "training.max_steps": 800,
    "training.validate_every": 5,
    "optimizer.warmup_steps": 20,
    "optimizer.gradient_clip": 5.0,
}
MECHANISMS: Mapping[str, Mechanism] = {
    "capsule-activations": Mechanism(
        "capsule-howto-tiny",
        "8-scenes",
        "activations that tell a clip's scene",
        "t2v/r10",
        "R@10",
        "without_activations",
        {"model.routing.carried_presence": 0.0},
        {**ROUTING_BY_SCENE, **_STEPS, "model.routing.carried_presence": 2.0},
    ),
    "capsule-named-scenes": Mechanism(
        "capsule-howto-tiny",
        "8-named-scenes",
        "activations that tell a clip's scene, which captions name",
        "t2v/r10",
        "R@10",
        "without_activations",
        {"model.routing.carried_presence": 0.0},
        {**ROUTING_BY_SCENE, **_STEPS},
    ),
    "capsule-rotations": Mechanism(
        "capsule-howto-tiny",
        "64-rotations",
        "activations that tell a clip's scene, of 64",
        "t2v/r10",
        "R@10",
        "without_activations",
        {"model.routing.carried_presence": 0.0},
        {**ROUTING_BY_SCENE, **_ROTATED, "optimizer.learning_rate": 2e-3},
    ),
    "fully-connected-rotations": Mechanism(
        "capsule-howto-tiny-fully-connected",
        "64-rotations",
        "none: the network without capsules",
        "t2v/r10",
        "R@10",
        changes={**_ROTATED, "optimizer.learning_rate": 5e-4},
    ),
    "capsule-msrvtt": Mechanism(
        "capsule-msrvtt",
        "msrvtt-800-clips",
        "activations, to which presence is carried",
        "t2v/r10",
        "R@10",
        "without_activations",
        {"model.routing.carried_presence": 0.0, "model.words.layer_norm": False},
    ),
    "muse-learner": Mechanism(
        "muse-tokens-tiny",
        "small-things",
        "the learner over tokens",
        "t2v/r1",
        "R@1",
        "without_learner",
        {"model.learner.kind": "none", "model.scales": (1,)},
    ),
    "muse-scale-4": Mechanism(
        "muse-tokens-tiny",
        "small-things",
        "the scale of single patches",
        "t2v/r1",
        "R@1",
        "without_scale-4",
        {"model.scales": (1, 2)},
    ),
    "muse-scale-2": Mechanism(
        "muse-tokens-tiny",
        "small-things",
        "the scale of 2 × 2 regions",
        "t2v/r1",
        "R@1",
        "without_scale-2",
        {"model.scales": (1, 4)},
    ),
    "muse-backward": Mechanism(
        "muse-tokens-tiny",
        "small-things",
        "the backward scan",
        "t2v/r1",
        "R@1",
        "without_backward",
        {"model.learner.scan": "none"},
    ),
    "dual-concept": Mechanism(
        "hybrid-msrvtt-tiny",
        "msrvtt-800",
        "the concept space",
        "t2v/r10",
        "R@10",
        "latent",
        {"model.num_concepts": None},
        _SMALL_MSRVTT,
    ),
    "dual-latent": Mechanism(
        "hybrid-msrvtt-tiny",
        "msrvtt-800",
        "the latent space",
        "t2v/r10",
        "R@10",
        "concept",
        {"model.latent_dim": None},
        _SMALL_MSRVTT,
    ),
    "siamese-routing": Mechanism(
        "siamese-att-small",
        "att-faces",
        "routing by agreement",
        "auc",
        "AUC",
        "without_routing",
        {"model.tower.iterations": 1},
    ),
    "captions-margin": Mechanism(
        "caption-msrvtt-tiny",
        "msrvtt-800",
        "granularity as the margin",
        "cider",
        "CIDEr",
        without={"loss.granularity_margin": None},
    ),
}


def measure(name: str, work: str, real: str, seeds: int, settings: Changes) -> dict[str, Any]:
    """The row of JSON: lists of the figure by seed, in the order of seeds; null where the row has no such way.

    settings: changes of all runs beside the row's own.
    """
    row = MECHANISMS[name]
    data = WORLDS[row.world](Place(f"{work}/data/{row.world}", real))
    config = override(preset(row.preset), {**row.changes, "scaling.workers": 0, **settings})
    test = TestSet(row.world, data["test"], config.model.system().evaluation or "retrieval")
    folder = f"{work}/runs/{row.preset}-{row.world}"
    plain = _trained(folder, "as-it-is", config, data, seeds, test, row)
    without = None
    if row.without is not None:
        without = _trained(folder, f"without-{name}", override(config, row.without), data, seeds, test, None)
    return {
        "system": config.model.system().name,
        "preset": row.preset,
        "data": row.world,
        "what": row.description,
        "figure": row.heading,
        "settings": [f"{setting}={json.dumps(value)}" for setting, value in settings.items()],
        "with": [figures[row.metric] for figures in plain],
        "switched_off": None if row.off is None else [figures[f"{row.off}/{row.metric}"] for figures in plain],
        "trained_without": None if without is None else [figures[row.metric] for figures in without],
        "machine": f"{processor()}; torch {versions('torch')['torch']}",
    }


def _trained(
    folder: str, row: str, config: Any, data: Mapping[str, str], seeds: int, test: TestSet, mechanism: Mechanism | None
) -> list[Mapping[str, float]]:
    """By seed the figures of the trained runs, with those of `mechanism` switched off among them."""
    sweep, figures = Sweep(folder, data["train"], data["val"], [], seeds, "knock-outs"), []
    for seed in range(seeds):
        run = f"{folder}/{row}/seed-{seed}"
        off = "" if mechanism is None or mechanism.off is None else f"-{mechanism.off}"
        place = locate(f"{run}/figures{off}.json")
        if not storage.exists(place):
            checkpoint = sweep.train(override(config, {"seed": seed}), run)
            storage.write_json(place, evaluated(checkpoint, test, () if mechanism is None else mechanism.knock_out))
        figures.append(storage.read_json(place))
    return figures


def evaluated(checkpoint: str, test: TestSet, knock_out: Sequence[str]) -> dict[str, float]:
    """All figures of `vtr evaluate` by metric name, without the name of the data set before it."""
    match test.kind:
        case "retrieval":
            flags = EvaluateFlags(checkpoint, (test.uri,), knock_out=tuple(knock_out), experiment="knock-outs")
            (result,) = evaluate(flags)
            return {name.split("/", 2)[2]: value for name, value in result.metrics().items()}
        case "verification":
            (verified,) = verify(
                VerificationFlags(checkpoint, (test.uri,), knock_out=tuple(knock_out), experiment="knock-outs")
            )
            return {name.partition("/")[2]: value for name, value in verified.metric_values("figures").items()}
        case "captioning":
            (described,) = describe(CaptioningFlags(checkpoint, (test.uri,), experiment="knock-outs"))
            return {name.partition("/")[2]: value for name, value in described.metrics("figures").items()}
        case task:
            raise AssertionError(f"no figures without a mechanism of --task {task}")


@dataclass(frozen=True)
class Flags:
    """Where the data is, where to work, which rows, how often."""

    data: str = "../shared/data"
    """Folder that holds msrvtt/annotations, msrvtt/features and att_faces."""
    work: str = "runs/knock-outs"
    """Folder for data sets and runs."""
    seeds: int = 5
    """Trainings with the mechanism, and as many without."""
    only: tuple[str, ...] = ()
    """Rows to measure (default: all)."""
    set: tuple[str, ...] = ()
    """Settings of all runs, NAME=VALUE, such as fewer epochs; another --work for other settings."""
    out: str = str(RESULTS)
    """Folder of the page."""


def main(argv: Sequence[str]) -> None:
    """Measure the rows that are asked for, one after the other, and write the page after each."""
    flags = parse(Flags, argv, "python -m benchmarks.knock_outs")
    place = page_folder(flags.out) / "knock_outs.json"
    settings = {text.partition("=")[0]: json.loads(text.partition("=")[2]) for text in flags.set}
    for name in flags.only or tuple(MECHANISMS):
        row = measure(name, flags.work, flags.data, flags.seeds, settings)
        known: dict[str, Any] = json.loads(place.read_text()) if place.exists() else {}
        known[name] = row
        known = {each: known[each] for each in MECHANISMS if each in known}
        write_page(place.parent, place.stem, known, markdown(known))
    print(place.with_suffix(".md").read_text())


def markdown(known: Mapping[str, Mapping[str, Any]]) -> str:
    """The page: a row for each mechanism, those that were not measured named as such."""
    lines = [
        "# What each mechanism is worth",
        "",
        "| row | system, preset | data | mechanism | figure | with it | switched off at test time "
        "| trained without it | seeds |",
        "|---|---|---|---|---|---:|---:|---:|---:|",
        *(_row(name, row) for name, row in known.items()),
        *(
            f"| {name} | `{row.preset}` | {row.world} | {row.description} | {row.heading} | not run | | | |"
            for name, row in MECHANISMS.items()
            if name not in known
        ),
        "",
        "Figures in percent on unseen data. Rows: mean ± standard deviation over seeds; differences in brackets, what "
        "it costs: ± half of a 95 % t interval, paired by seed. A trained network is not made for what "
        "is switched off, so that the middle column is what it uses and the last one what it needs.",
    ]
    settings = {name: ", ".join(f"`{setting}`" for setting in row["settings"]) for name, row in known.items()}
    lines += [f"\n{name}: all runs with {text}." for name, text in settings.items() if text]
    machines = sorted({row["machine"] for row in known.values()})
    lines += ["", f"On {'; '.join(machines) or '–'}. `python -m benchmarks.knock_outs`"]
    return "\n".join(lines) + "\n"


def _row(name: str, row: Mapping[str, Any]) -> str:
    cells = [
        name,
        f"{row['system']}, `{row['preset']}`",
        row["data"],
        row["what"],
        row["figure"],
        _mean(row["with"]),
        *(_mean(row[way], row["with"]) for way in ("switched_off", "trained_without")),
        str(len(row["with"])),
    ]
    return f"| {' | '.join(cells)} |"


def _mean(values: Sequence[float] | None, beside: Sequence[float] | None = None) -> str:
    if values is None:
        return "–"
    mean = estimate(tuple(values))
    text = f"{mean.mean:.1f}{plus_minus(mean.deviation)}"
    if beside is None:
        return text
    costs = estimate(tuple(with_it - value for with_it, value in zip(beside, values, strict=True)))
    return f"{text} ({costs.mean:+.1f}{plus_minus(costs.half_width)})"


if __name__ == "__main__":
    main(sys.argv[1:])
