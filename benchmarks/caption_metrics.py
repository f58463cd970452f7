"""What each metric of captions costs on as many as MSR-VTT's official test has: `python -m benchmarks.caption_metrics`.

A video's first caption is scored against its others. Seconds are of the wall clock, because METEOR and the Treebank
tokeniser run as Java programs beside Python; both take part where they can (the extra `captioning`, Java).
"""

import json
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.report.pages import RESULTS, Benchmark, origin
from vtr_core.metrics.captioning import caption_metrics, cider, java_missing, treebank_words


@dataclass(frozen=True)
class Flags:
    """Where the captions are, and of how many videos."""

    annotations: str = "../shared/data/msrvtt/annotations/train_val_videodatainfo.json"
    """The release's file of videos and sentences."""
    videos: int = 2990
    """Videos that are scored, as many as the official test has."""
    out: str = str(RESULTS)
    """Folder for caption_metrics.json and caption_metrics.md."""


def measure(flags: Flags) -> dict[str, Any]:
    """Seconds by metric, of how many captions, and why METEOR is missing, where it is."""
    texts = captions(flags)
    first, references = {name: own[0] for name, own in texts.items()}, {name: own[1:] for name, own in texts.items()}
    return {
        "videos": len(texts),
        "references": sum(map(len, references.values())),
        "seconds": seconds(first, references),
        "missing": java_missing(),
    }


def captions(flags: Flags) -> dict[str, list[str]]:
    """The captions of the file's first videos that have two at least."""
    release, texts = json.loads(Path(flags.annotations).read_text()), dict[str, list[str]]()
    for sentence in release["sentences"]:
        texts.setdefault(sentence["video_id"], []).append(sentence["caption"])
    return dict([(name, own) for name, own in texts.items() if len(own) > 1][: flags.videos])


def seconds(captions: Mapping[str, str], references: Mapping[str, Sequence[str]]) -> dict[str, float]:
    """By metric, on words as the project cuts them; with Java also METEOR, and the Treebank tokeniser alone."""
    works: dict[str, Callable[[], object]] = {
        "CIDEr": partial(cider, captions, references, tokenizer="words"),
        "CIDEr, BLEU and ROUGE-L": partial(caption_metrics, captions, references, with_meteor=False),
    }
    if java_missing() is None:
        works["these and METEOR"] = partial(caption_metrics, captions, references)
        works["the Treebank tokeniser"] = partial(treebank_words, references)
    return {name: _elapsed(work) for name, work in works.items()}


def markdown(figures: Mapping[str, Any]) -> str:
    """The page."""
    rows = [f"| {name} | {taken:.1f} |" for name, taken in figures["seconds"].items()]
    note = [] if figures["missing"] is None else [f"METEOR and the Treebank tokeniser: {figures['missing']}.", ""]
    return "\n".join(
        [
            "# What metrics of captions cost",
            "",
            f"{figures['videos']:,} captions against {figures['references']:,}, of MSR-VTT; seconds by the clock.",
            "",
            "| | s |",
            "|---|---:|",
            *rows,
            "",
            *note,
            origin(figures),
            "",
        ]
    )


def _elapsed(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


BENCHMARK = Benchmark(
    "benchmarks.caption_metrics", Flags, measure, markdown, ("numpy", *([] if java_missing() else ["pycocoevalcap"]))
)

if __name__ == "__main__":
    BENCHMARK.main(sys.argv[1:])
