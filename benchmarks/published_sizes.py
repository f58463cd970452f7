"""Do the published sizes learn? Presets trained at their own size: their loss, and what they find, beside chance.

One preset at a time is trained and evaluated; the page keeps what was measured before, and a run that was interrupted
goes on by the same command. Run from the repository:

    python -m benchmarks.published_sizes --preset capsule-howto --data DATA/train --test DATA/test --steps 300
"""

import json
import resource
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from math import log
from typing import Any

from benchmarks.machine import processor, versions
from benchmarks.report.pages import RESULTS, page_folder, write_page
from pipelines.arguments import parse
from pipelines.tables.runs import Sweep, TestSet, read_results
from vtr_core.config.override import override
from vtr_core.data.captions import video_captions
from vtr_core.data.manifest import Manifest, data_set
from vtr_core.run.config import TrainConfig
from vtr_core.run.presets import preset
from vtr_core.storage import locate
from vtr_core.systems.captioning.config import CaptioningLossConfig
from vtr_core.systems.captioning.generated_captions import caption_figures
from vtr_core.systems.loaded_model import CaptionedVideos
from vtr_core.tracking.run_log import read_lines

PUBLISHED = ("capsule-howto", "hybrid-msrvtt", "muse-msrvtt", "siamese-att", "caption-msrvtt")
STEPS = (100, 300)
AVERAGED = 5
"""Steps up to one of them whose mean loss is told; batches differ."""
CONTRAST = "train/loss_fusion"
"""A captioner's L_bfc in the log of its run."""
SHOWN: Mapping[str, Mapping[str, str]] = {
    "retrieval": {"t2v/r1": "R@1", "t2v/r10": "R@10", "t2v/medr": "MedR"},
    "verification": {"accuracy": "accuracy", "auc": "AUC"},
    "captioning": {"cider": "CIDEr", "bleu4": "B@4"},
}
"""By task of `vtr evaluate`: the figures on the page, by metric name their heading."""


@dataclass(frozen=True)
class Flags:
    """What to train, on what, for how long."""

    data: str
    """Training data."""
    test: str
    """Data that training never sees."""
    validation: str | None = None
    """Where a face's threshold comes from."""
    preset: str = "capsule-howto"
    """A preset of any system."""
    steps: int = 300
    """Optimiser steps; the schedule ends with them."""
    work: str = "runs/published-sizes"
    """Folder of the runs; one that is finished in it is taken as it is."""
    set: tuple[str, ...] = ()
    """Settings that differ from the preset's, NAME=VALUE, such as a batch that fits."""
    world: str = ""
    """What the data is, for the page."""
    row: str | None = None
    """Name of the row, of a preset that has several (default: the preset's)."""
    out: str = str(RESULTS)
    """Folder of the page."""


@dataclass(frozen=True)
class Measured:
    """One preset: its loss at the start and after so many steps beside chance, and what it finds beside chance."""

    settings: tuple[str, ...]
    steps: int
    chance: float | None
    losses: Mapping[str, float]
    """By the number of steps, as text."""
    figures: Mapping[str, float]
    """Figures on the test data by their headings; all but the median rank in percent."""
    guessed: Mapping[str, float]
    """The same of guessing."""
    step_s: float
    memory_gb: float
    """Most that the process held."""
    machine: str
    world: str = ""
    """What it was trained on."""
    learned: Mapping[str, float] = field(default_factory=dict)
    """What the loss learned beside the model, such as its temperature, at the end."""
    contrast: Mapping[str, float] = field(default_factory=dict)
    """A captioner's L_bfc, with its weight, by the number of steps, as text."""


def main(argv: Sequence[str]) -> None:
    """Train, evaluate, and write the page."""
    flags = parse(Flags, argv, "python -m benchmarks.published_sizes")
    place = page_folder(flags.out) / "published_sizes.json"
    measured = measure(flags)
    known: dict[str, Any] = json.loads(place.read_text()) if place.exists() else {}
    known[flags.row or flags.preset] = asdict(measured)
    page = markdown(known)
    write_page(place.parent, place.stem, known, page)
    print(page)


def measure(flags: Flags) -> Measured:
    """Train in this process, evaluate the last checkpoint, and read the run's log."""
    fixed = {"training.max_steps": flags.steps, "training.log_every": 1, "scaling.workers": 0}
    config = override(preset(flags.preset), {**fixed, **dict(_setting(text) for text in flags.set)})
    task, row = config.model.system().evaluation or "retrieval", flags.row or flags.preset
    sets = [TestSet("test", flags.test, task)]
    Sweep(flags.work, flags.data, flags.validation, sets, 1, "published-sizes").run(row, config)
    results = read_results(flags.work, [row], sets, 1)
    points = [line for line in read_lines(locate(flags.work) / row / "seed-0/metrics.jsonl") if "train/loss" in line]
    rates = sorted(point["train/samples_per_s"] for point in points)
    return Measured(
        settings=flags.set,
        steps=points[-1]["step"],
        chance=chance_loss(config, points[0]),
        losses=losses(points, "train/loss"),
        figures={name: results.figures[row][f"test/{metric}"][0] for metric, name in SHOWN[task].items()},
        guessed=guessed(task, results.chance, flags),
        step_s=config.batch.rows / rates[len(rates) // 2],
        memory_gb=resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20,
        machine=f"{processor()}; torch {versions('torch')['torch']}",
        world=flags.world,
        learned={"1/τ": 1 / points[-1]["train/temperature"]} if "train/temperature" in points[-1] else {},
        contrast=losses(points, CONTRAST) if CONTRAST in points[0] else {},
    )


def chance_loss(config: TrainConfig, first: Mapping[str, Any]) -> float | None:
    """A captioner's L_bfc, with its weight, where all pairs have one score; else what the log's `first` point says.

    None where neither is known.
    """
    if CONTRAST in first and isinstance(config.loss, CaptioningLossConfig):
        return config.loss.score.weight * log(config.batch.videos)
    return first.get("train/chance")


def _setting(text: str) -> tuple[str, Any]:
    name, _, value = text.partition("=")
    return name, json.loads(value)


def losses(points: Sequence[Mapping[str, Any]], name: str) -> dict[str, float]:
    """The loss `name` by step: of the first, and means of AVERAGED steps up to those of STEPS it came to and the last.

    The first is computed before anything was learned.
    """
    last = points[-1]["step"]
    losses = {str(points[0]["step"]): points[0][name]}
    for step in dict.fromkeys([*(step for step in STEPS if step <= last), last]):
        near = [point[name] for point in points if step - AVERAGED < point["step"] <= step]
        losses[str(step)] = sum(near) / len(near)
    return losses


def guessed(task: str, chance: Mapping[str, float], flags: Flags) -> dict[str, float]:
    """What guessing finds: any video; a coin; captions of other videos, the training data's in their order."""
    if task == "retrieval":
        return {name: chance[f"test/{metric}"] for metric, name in SHOWN[task].items()}
    if task == "verification":
        return dict.fromkeys(SHOWN[task].values(), 50.0)
    training = Manifest.load(data_set(flags.data, "train"))
    captions = [video.captions[0] for video in video_captions(training) if video.captions]
    videos = [video for video in video_captions(Manifest.load(flags.test)) if video.captions]
    guesses = {video.video_id: captions[place % len(captions)] for place, video in enumerate(videos)}
    references = {video.video_id: tuple(video.captions) for video in videos}
    figures = caption_figures(
        CaptionedVideos(guesses, references, dict.fromkeys(guesses, True)), "words", with_meteor=False
    )
    return {"CIDEr": 100 * figures.cider, "B@4": 100 * figures.bleu[4]}


def markdown(known: Mapping[str, Mapping[str, Any]]) -> str:
    """The page: a row for each published preset, those that were not trained named as such."""
    head = "| row | data | settings that differ | loss (step) | chance | found on unseen data (by guessing) "
    lines = ["# Published sizes learn", "", head + "| s a step | GB |", "|---|---|---|---|---:|---|---:|---:|"]
    missing = [name for name in PUBLISHED if name not in known]
    lines += [_row(name, row) for name, row in known.items()]
    lines += [f"| `{name}` | – | not run | – | – | – | – | – |" for name in missing]
    machines = sorted({row["machine"] for row in known.values()})
    lines += [
        "",
        "Retrieval is from text to video, accuracy at the threshold where validation's error rates are equal, captions "
        "by beam search; a guessed caption is another video's. A loss at step 1 is of fresh weights, the others are "
        f"means of {AVERAGED} steps. One seed. On {'; '.join(machines)}, while it did other work: seconds say little. "
        "`python -m benchmarks.published_sizes`",
    ]
    return "\n".join(lines) + "\n"


def _row(name: str, row: Mapping[str, Any]) -> str:
    guesses = row["guessed"]
    cells = [
        f"`{name}`",
        row.get("world") or "–",
        ", ".join(f"`{setting}`" for setting in row["settings"]) or "none",
        _course(row["losses"]),
        "–" if row["chance"] is None else f"{row['chance']:.2f}",
        ", ".join(f"{metric} {value:.1f} ({guesses[metric]:.1f})" for metric, value in row["figures"].items()),
        f"{row['step_s']:.2f}",
        f"{row['memory_gb']:.1f}",
    ]
    cells[3] += "".join(f"; {learned} {value:.0f}" for learned, value in row.get("learned", {}).items())
    if row.get("contrast"):
        cells[3] += f"; L_bfc {_course(row['contrast'])}"
        cells[4] = f"L_bfc {cells[4]}"
    return f"| {' | '.join(cells)} |"


def _course(losses: Mapping[str, float]) -> str:
    return " → ".join(f"{loss:.2f} ({step})" for step, loss in losses.items())


if __name__ == "__main__":
    main(sys.argv[1:])
