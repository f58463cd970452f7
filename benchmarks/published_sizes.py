"""Do the published sizes learn? Presets trained at their own size: their loss, and what they find, beside chance.

One preset at a time is trained and evaluated; the page keeps what was measured before. Run from the repository:

    python -m benchmarks.published_sizes --preset capsule-howto --data DATA/train --test DATA/test --steps 300
"""

import json
import resource
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from benchmarks.machine import processor, versions
from pipelines.arguments import parse
from pipelines.evaluate.flags import EvaluateFlags
from pipelines.evaluate.retrieval import evaluate
from pipelines.train.command import TrainFlags, train
from vtr_core.config.override import override
from vtr_core.run.presets import preset
from vtr_core.storage import locate
from vtr_core.tracking.json_lines import read_lines

PUBLISHED = ("capsule-howto", "hybrid-msrvtt", "muse-msrvtt", "siamese-att", "caption-msrvtt")
STEPS = (100, 300)
RESULTS = Path(__file__).parent / "results"


@dataclass(frozen=True)
class Flags:
    """What to train, on what, for how long."""

    data: str
    """Training data."""
    test: str
    """Data that training never sees."""
    preset: str = "capsule-howto"
    """One that is evaluated by retrieval."""
    steps: int = 300
    """Optimiser steps; the schedule ends with them."""
    work: str = "runs/published-sizes"
    """Folder of the run, which must not be there."""
    set: tuple[str, ...] = ()
    """Settings that differ from the preset's, NAME=VALUE, such as a batch that fits."""
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
    recall: Mapping[str, float]
    """R@1 and R@10 from text to video, in percent, and the median rank."""
    chance_recall: Mapping[str, float]
    items: int
    step_s: float
    memory_gb: float
    """Most that the process held."""
    machine: str


def main(argv: Sequence[str]) -> None:
    """Train, evaluate, and write the page."""
    flags = parse(Flags, argv, "python -m benchmarks.published_sizes")
    place = Path(flags.out) / "published_sizes.json"
    known: dict[str, Any] = json.loads(place.read_text()) if place.exists() else {}
    known[flags.preset] = asdict(measure(flags))
    place.write_text(json.dumps(known, indent=1) + "\n")
    page = markdown(known)
    place.with_suffix(".md").write_text(page)
    print(page)


def measure(flags: Flags) -> Measured:
    """Train in this process and read its log; then evaluate the last checkpoint."""
    rate = max(1, flags.steps // 60)
    fixed = {"training.max_steps": flags.steps, "training.log_every": rate, "scaling.workers": 0}
    given = dict(_setting(text) for text in flags.set)
    config = override(preset(flags.preset), {**fixed, **given})
    finished = train(config, TrainFlags(data=flags.data, out=flags.work, experiment="published-sizes"))
    points = [line for line in read_lines(locate(flags.work) / "metrics.jsonl") if "train/loss" in line]
    (result,) = evaluate(EvaluateFlags(finished.checkpoint, (flags.test,), experiment="published-sizes"))
    found = next(direction for direction in result.directions if direction.name == "t2v")
    return Measured(
        settings=flags.set,
        steps=points[-1]["step"],
        chance=points[0].get("train/chance"),
        losses={str(point["step"]): point["train/loss"] for point in _at(points)},
        recall=_figures(found.metrics),
        chance_recall=_figures(found.chance),
        items=found.metrics.num_items,
        step_s=config.batch.rows / sorted(point["train/samples_per_s"] for point in points)[len(points) // 2],
        memory_gb=resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20,
        machine=f"{processor()}; torch {versions('torch')['torch']}",
    )


def _setting(text: str) -> tuple[str, Any]:
    name, _, value = text.partition("=")
    return name, json.loads(value)


def _at(points: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """The first point, those nearest to STEPS where training came so far, and the last one; each once."""
    reached = [step for step in STEPS if step <= points[-1]["step"]]
    near = [min(points, key=lambda point: abs(point["step"] - step)) for step in reached]
    return list({point["step"]: point for point in (points[0], *near, points[-1])}.values())


def _figures(metrics: Any) -> dict[str, float]:
    return {"R@1": 100 * metrics.recall[1], "R@10": 100 * metrics.recall[10], "MedR": metrics.median_rank}


def markdown(known: Mapping[str, Mapping[str, Any]]) -> str:
    """The page: a row for each published preset, those that were not trained named as such."""
    head = "| preset | settings that differ | loss (step) | chance | R@1 | R@10 (chance) | MedR | s a step | GB |"
    lines = ["# Published sizes learn", "", head, "|---|---|---|---:|---:|---:|---:|---:|---:|"]
    for name in PUBLISHED:
        lines.append(
            _row(name, known[name]) if name in known else f"| `{name}` | not run | – | – | – | – | – | – | – |"
        )
    machines = sorted({one["machine"] for one in known.values()})
    lines += [
        "",
        f"Text to video on clips that training never saw. On {'; '.join(machines)}, while it did other work: ",
    ]
    lines[-1] += "seconds say little. `python -m benchmarks.published_sizes`"
    return "\n".join(lines) + "\n"


def _row(name: str, one: Mapping[str, Any]) -> str:
    losses = " → ".join(f"{loss:.2f} ({step})" for step, loss in one["losses"].items())
    chance = "–" if one["chance"] is None else f"{one['chance']:.2f}"
    found, guessed = one["recall"], one["chance_recall"]
    cells = [
        f"`{name}`",
        ", ".join(f"`{setting}`" for setting in one["settings"]) or "none",
        losses,
        chance,
        f"{found['R@1']:.1f}",
        f"{found['R@10']:.1f} ({guessed['R@10']:.1f} of {one['items']})",
        f"{found['MedR']:.0f}",
        f"{one['step_s']:.2f}",
        f"{one['memory_gb']:.1f}",
    ]
    return f"| {' | '.join(cells)} |"


if __name__ == "__main__":
    main(sys.argv[1:])
