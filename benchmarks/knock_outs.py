"""What each system's central mechanism is worth: switched off at test time, and trained without.

Every mechanism is one row: its preset is trained with some seeds, evaluated as it is and without the mechanism, and
trained anew without it, on the data where the mechanism should matter. Runs that are finished are taken as they are,
interrupted ones go on, and the page keeps the rows that were measured before:

    python -m benchmarks.knock_outs --data ../shared/data --seeds 5 --only muse-scale-4
"""

import json
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.machine import processor, versions
from benchmarks.msrvtt_dual.data import videos
from benchmarks.report.pages import page_folder, write_page
from pipelines.arguments import parse
from pipelines.tables.runs import Sweep, TestSet
from vtr_core import storage
from vtr_core.config.override import override
from vtr_core.data.manifest import splits
from vtr_core.run.models import system_of
from vtr_core.run.presets import preset
from vtr_core.storage import locate
from vtr_core.tables.interval import estimate

RESULTS = Path(__file__).parent / "results"
Changes = Mapping[str, Any]


@dataclass(frozen=True)
class Mechanism:
    """One row: what is switched off, how, and by which figure it is judged."""

    preset: str
    world: str
    """A name of WORLDS."""
    what: str
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


_SMALL_MSRVTT: Changes = {"training.epochs": 60, "training.validate_every": 5}
_BY_SCENE: Changes = {
    "model.initialization": "scaled",
    "model.routing.carried_presence": 2.0,
    "optimizer.warmup_steps": 20,
    "optimizer.gradient_clip": 5.0,
    "batch.videos": 128,
    "training.epochs": 1000,
    "training.max_steps": 220,
    "training.validate_every": 1000,
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
        _BY_SCENE,
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
    for name in flags.only or tuple(MECHANISMS):
        row = measure(name, MECHANISMS[name], flags)
        known: dict[str, Any] = json.loads(place.read_text()) if place.exists() else {}
        known[name] = row
        known = {each: known[each] for each in MECHANISMS if each in known}
        write_page(place.parent, place.stem, known, markdown(known))
    print(place.with_suffix(".md").read_text())


def measure(name: str, one: Mechanism, flags: Flags) -> dict[str, Any]:
    """The row of JSON: lists of the figure by seed, in the order of seeds; null where the row has no such way."""
    data = WORLDS[one.world](flags)
    given = {text.partition("=")[0]: json.loads(text.partition("=")[2]) for text in flags.set}
    config = override(preset(one.preset), {**one.changes, "scaling.workers": 0, **given})
    task = system_of(config.model).evaluation or "retrieval"
    folder = f"{flags.work}/runs/{one.preset}"
    plain = _trained(folder, "as-it-is", config, data, flags.seeds, TestSet(one.world, data["test"], task), one)
    without = None
    if one.without is not None:
        changed = override(config, one.without)
        test = TestSet(one.world, data["test"], task)
        without = _trained(folder, f"without-{name}", changed, data, flags.seeds, test, None)
    return {
        "system": system_of(config.model).name,
        "preset": one.preset,
        "data": one.world,
        "what": one.what,
        "figure": one.heading,
        "settings": list(flags.set),
        "with": [figures[one.metric] for figures in plain],
        "switched_off": None if one.off is None else [figures[f"{one.off}/{one.metric}"] for figures in plain],
        "trained_without": None if without is None else [figures[one.metric] for figures in without],
        "machine": f"{processor()}; torch {versions('torch')['torch']}",
    }


def _trained(
    folder: str, row: str, config: Any, data: Mapping[str, str], seeds: int, test: TestSet, one: Mechanism | None
) -> list[Mapping[str, float]]:
    """By seed the figures of the trained runs, with those of `one` switched off among them."""
    sweep, found = Sweep(folder, data["train"], data["val"], [], seeds, "knock-outs"), []
    for seed in range(seeds):
        run = f"{folder}/{row}/seed-{seed}"
        off = "" if one is None or one.off is None else f"-{one.off}"
        place = locate(f"{run}/figures{off}.json")
        if not storage.exists(place):
            checkpoint = sweep.train(override(config, {"seed": seed}), run)
            storage.write_json(place, evaluated(checkpoint, test, () if one is None else one.knock_out))
        found.append(storage.read_json(place))
    return found


def evaluated(checkpoint: str, test: TestSet, knock_out: Sequence[str]) -> dict[str, float]:
    """All figures of `vtr evaluate` by metric name, without the name of the data set before it."""
    match test.kind:
        case "retrieval":
            from pipelines.evaluate.flags import EvaluateFlags
            from pipelines.evaluate.retrieval import evaluate

            flags = EvaluateFlags(checkpoint, (test.uri,), knock_out=tuple(knock_out), experiment="knock-outs")
            (result,) = evaluate(flags)
            return {name.split("/", 2)[2]: value for name, value in result.metrics().items()}
        case "verification":
            from vtr_core.systems.siamese.commands.evaluate import VerificationFlags
            from vtr_core.systems.siamese.commands.evaluate import evaluate as verify

            (verified,) = verify(
                VerificationFlags(checkpoint, (test.uri,), knock_out=tuple(knock_out), experiment="knock-outs")
            )
            return {name.partition("/")[2]: value for name, value in verified.metric_values("figures").items()}
        case "captioning":
            from vtr_core.systems.captioning.commands.evaluate import CaptioningFlags
            from vtr_core.systems.captioning.commands.evaluate import evaluate as describe

            (described,) = describe(CaptioningFlags(checkpoint, (test.uri,), experiment="knock-outs"))
            return {name.partition("/")[2]: value for name, value in described.metrics("figures").items()}
        case task:
            raise AssertionError(f"no figures without a mechanism of --task {task}")


def _scenes(flags: Flags) -> Mapping[str, str]:
    """Clips whose scene, that no caption names, decides what their features mean."""
    from pipelines.ingest.command import ingest
    from pipelines.ingest.flags import IngestFlags
    from vtr_core.data.sources.synthetic.clips import Synthetic

    folder = f"{flags.work}/data/8-scenes"
    if not splits(folder):
        clips = Synthetic(scenes=8, noise=0.3, style=0.5, misalignment=0.0, mention=0.9, num_clips=12_000)
        ingest(clips, IngestFlags(out=folder))
    return splits(folder)


def _small_things(flags: Flags) -> Mapping[str, str]:
    from pipelines.ingest.command import ingest
    from pipelines.ingest.flags import IngestFlags
    from vtr_core.data.sources.synthetic.tokens import SyntheticTokens

    folder = f"{flags.work}/data/small-things"
    if not splits(folder):
        ingest(SyntheticTokens(), IngestFlags(out=folder))
    return splits(folder)


def _msrvtt(flags: Flags) -> Mapping[str, str]:
    """The folder of the splits for training, where the table of concepts lies beside them."""
    sets = videos(Path(flags.data), Path(flags.work) / "data/msrvtt-800")
    return {"train": str(Path(sets.train).parent), "val": sets.val, "test": sets.test}


def _faces(flags: Flags) -> Mapping[str, str]:
    """AT&T: subjects s1 to s5 validate, s6 to s10 test, 25 train."""
    from pipelines.ingest.command import ingest
    from pipelines.ingest.flags import IngestFlags
    from vtr_core.data.sources.faces.folder import Faces

    folder = f"{flags.work}/data/att-faces"
    if not splits(folder):
        subjects = [f"s{number}" for number in range(1, 11)]
        source = Faces(root=f"{flags.data}/att_faces", validation=tuple(subjects[:5]), test=tuple(subjects[5:]))
        ingest(source, IngestFlags(out=folder))
    return splits(folder)


WORLDS: Mapping[str, Callable[[Flags], Mapping[str, str]]] = {
    "8-scenes": _scenes,
    "small-things": _small_things,
    "msrvtt-800": _msrvtt,
    "att-faces": _faces,
}
"""By name, what gives the splits of a data set, made where they are not there yet."""


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
            f"| {name} | `{one.preset}` | {one.world} | {one.what} | {one.heading} | not run | | | |"
            for name, one in MECHANISMS.items()
            if name not in known
        ),
        "",
        "Figures in percent on unseen data, mean ± standard deviation over seeds; in brackets what it costs, seed by "
        "seed. A trained network is not made for what is switched off, so that the middle column is what it uses and "
        "the last one what it needs.",
    ]
    settings = {name: ", ".join(f"`{one}`" for one in row["settings"]) for name, row in known.items()}
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
    found = estimate(tuple(values))
    text = f"{found.mean:.1f}" if found.deviation is None else f"{found.mean:.1f} ± {found.deviation:.1f}"
    if beside is None:
        return text
    costs = estimate(tuple(with_it - value for with_it, value in zip(beside, values, strict=True)))
    half = "" if costs.half_width is None else f" ± {costs.half_width:.1f}"
    return f"{text} ({costs.mean:+.1f}{half})"


if __name__ == "__main__":
    main(sys.argv[1:])
