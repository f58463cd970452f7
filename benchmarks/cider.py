"""CIDEr-D of many captions beside pycocoevalcap's and plain code: `python -m benchmarks.cider`.

Captions are drawn from a vocabulary with Zipf's frequencies, 20 references to a video, as MSR-VTT has them. Writes
cider.json and cider.md. pycocoevalcap takes part where it is installed (the extra `captioning`).
"""

import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.machine import processor, versions
from benchmarks.report.pages import page_folder, write_page
from pipelines.arguments import parse
from tests.reference import captioning as plain
from vtr_core.metrics.captioning import Hypotheses, References, cider

REFERENCES, WORDS, VOCABULARY = 20, 9, 20_000
PEER = "pycocoevalcap"


@dataclass(frozen=True)
class Flags:
    """How many captions, and who takes part."""

    references: tuple[int, ...] = (2_000, 20_000, 200_000)
    """References of all videos together."""
    plain: int = 20_000
    """The most references that plain code is given."""
    out: str = str(Path(__file__).parent / "results")
    """Folder for cider.json and cider.md."""


def world(videos: int, seed: int) -> tuple[dict[str, str], dict[str, list[str]]]:
    """A hypothesis and REFERENCES captions of every video."""
    rng = np.random.default_rng(seed)
    frequency = 1.0 / np.arange(1, VOCABULARY + 1)
    drawn = rng.choice(VOCABULARY, (videos, REFERENCES + 1, WORDS), p=frequency / frequency.sum()).astype(str)
    texts = [[" ".join(words) for words in video] for video in drawn]
    return {str(i): own[0] for i, own in enumerate(texts)}, {str(i): own[1:] for i, own in enumerate(texts)}


def peers_cider(hypotheses: Hypotheses, references: References) -> float:
    """The mean that pycocoevalcap finds."""
    from pycocoevalcap.cider.cider import Cider

    return Cider().compute_score(references, {name: [text] for name, text in hypotheses.items()})[0]


def plain_cider(hypotheses: Hypotheses, references: References) -> float:
    """The mean that loops over dictionaries find."""
    return sum(plain.cider(hypotheses, references).values()) / len(hypotheses)


def timed(compute: Callable[[], float]) -> tuple[float, float]:
    """Processor time of a call, in seconds, and what it found."""
    start = time.process_time()
    found = compute()
    return time.process_time() - start, found


def compare(flags: Flags) -> dict[str, dict[str, Any]]:
    """By references, every form's seconds, and its largest difference from the first form's mean."""
    forms: dict[str, Callable[[Hypotheses, References], float]] = {"ours": lambda h, r: cider(h, r).mean}
    if find_spec(PEER):
        forms[PEER] = peers_cider
    found = {}
    for references in flags.references:
        given = world(references // REFERENCES, seed=0)
        slow = {"plain": plain_cider} if references <= flags.plain else {}
        runs = {name: timed(partial(form, *given)) for name, form in {**forms, **slow}.items()}
        found[str(references)] = {
            "seconds": {name: seconds for name, (seconds, _) in runs.items()},
            "difference": max(abs(mean - runs["ours"][1]) for _, mean in runs.values()),
        }
    return found


def markdown(figures: Mapping[str, Any]) -> str:
    """The page."""
    names = ("ours", PEER, "plain")
    rows = []
    for references, one in figures["runs"].items():
        seconds = [one["seconds"].get(name) for name in names]
        cells = ["–" if s is None else f"{s:.2f} ({s / one['seconds']['ours']:.1f} ×)" for s in seconds]
        rows.append(f"| {int(references):,} | {' | '.join(cells)} | {one['difference']:.0e} |")
    words = ", ".join(f"{name} {number}" for name, number in figures["versions"].items())
    return "\n".join(
        [
            "# CIDEr-D of many captions",
            "",
            f"Processor seconds, and how many times ours; {WORDS} words a caption, {REFERENCES} references a video.",
            "plain: loops over dictionaries. Last column: the largest difference of their means from ours.",
            "",
            f"| references | {' | '.join(names)} | difference |",
            "|---:|---:|---:|---:|---:|",
            *rows,
            "",
            f"On {figures['device']}; {words}; `{figures['command']}`.",
            "",
        ]
    )


def main(argv: Sequence[str]) -> None:
    """Measure, print the page and write it."""
    flags = parse(Flags, argv, "python -m benchmarks.cider")
    out = page_folder(flags.out)
    figures = {
        "runs": compare(flags),
        "device": processor(),
        "versions": versions("numpy", *([PEER] if find_spec(PEER) else [])),
        "command": " ".join(["python -m benchmarks.cider", *argv]),
    }
    write_page(out, "cider", figures, markdown(figures))
    print(markdown(figures))


if __name__ == "__main__":
    main(sys.argv[1:])
