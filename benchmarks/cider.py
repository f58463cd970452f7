"""CIDEr-D of many captions beside pycocoevalcap's and plain code: `python -m benchmarks.cider`.

Captions are drawn from a vocabulary with Zipf's frequencies, 20 references to a video, as MSR-VTT has them. Writes
cider.json and cider.md. pycocoevalcap takes part where it is installed (the extra `captioning`).
"""

import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from typing import Any

import numpy as np

from benchmarks.report.pages import RESULTS, Benchmark, origin
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
    out: str = str(RESULTS)
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
    value = compute()
    return time.process_time() - start, value


def measure(flags: Flags) -> dict[str, Any]:
    """The runs: by references, every form's seconds, and its largest difference from the first form's mean."""
    forms: dict[str, Callable[[Hypotheses, References], float]] = {"ours": lambda h, r: cider(h, r).mean}
    if find_spec(PEER):
        forms[PEER] = peers_cider
    compared = {}
    for references in flags.references:
        texts = world(references // REFERENCES, seed=0)
        slow = {"plain": plain_cider} if references <= flags.plain else {}
        runs = {name: timed(partial(form, *texts)) for name, form in {**forms, **slow}.items()}
        compared[str(references)] = {
            "seconds": {name: seconds for name, (seconds, _) in runs.items()},
            "difference": max(abs(mean - runs["ours"][1]) for _, mean in runs.values()),
        }
    return {"runs": compared}


def markdown(figures: Mapping[str, Any]) -> str:
    """The page."""
    names = ("ours", PEER, "plain")
    rows = []
    for references, run in figures["runs"].items():
        seconds = [run["seconds"].get(name) for name in names]
        cells = ["–" if s is None else f"{s:.2f} ({s / run['seconds']['ours']:.1f} ×)" for s in seconds]
        rows.append(f"| {int(references):,} | {' | '.join(cells)} | {run['difference']:.0e} |")
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
            origin(figures),
            "",
        ]
    )


BENCHMARK = Benchmark("benchmarks.cider", Flags, measure, markdown, ("numpy", *([PEER] if find_spec(PEER) else [])))

if __name__ == "__main__":
    BENCHMARK.main(sys.argv[1:])
