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

from benchmarks.machine import processor, versions
from benchmarks.report.pages import page_folder, write_page
from pipelines.arguments import parse
from vtr_core.metrics.captioning import bleu, cider, java_missing, meteor, rouge_l, treebank_words


@dataclass(frozen=True)
class Flags:
    """Where the captions are, and of how many videos."""

    annotations: str = "../shared/data/msrvtt/annotations/train_val_videodatainfo.json"
    """The release's file of videos and sentences."""
    videos: int = 2990
    """Videos that are scored, as many as the official test has."""
    out: str = str(Path(__file__).parent / "results")
    """Folder for caption_metrics.json and caption_metrics.md."""


def main(argv: Sequence[str]) -> None:
    """Measure, print the page and write it."""
    flags = parse(Flags, argv, "python -m benchmarks.caption_metrics")
    out = page_folder(flags.out)
    texts = captions(flags)
    told, references = {name: own[0] for name, own in texts.items()}, {name: own[1:] for name, own in texts.items()}
    missing = java_missing()
    figures = {
        "videos": len(texts),
        "references": sum(map(len, references.values())),
        "seconds": seconds(told, references),
        "missing": missing,
        "device": processor(),
        "versions": versions("numpy", *([] if missing else ["pycocoevalcap"])),
    }
    write_page(out, "caption_metrics", figures, markdown(figures))
    print(markdown(figures))


def captions(flags: Flags) -> dict[str, list[str]]:
    """The captions of the file's first videos that have two at least."""
    release, found = json.loads(Path(flags.annotations).read_text()), dict[str, list[str]]()
    for one in release["sentences"]:
        found.setdefault(one["video_id"], []).append(one["caption"])
    return dict([(name, texts) for name, texts in found.items() if len(texts) > 1][: flags.videos])


def seconds(told: Mapping[str, str], references: Mapping[str, Sequence[str]]) -> dict[str, float]:
    """By metric, on words as the project cuts them; with Java also METEOR, and the Treebank tokeniser alone."""
    scores = {"BLEU": bleu, "ROUGE-L": rouge_l, "CIDEr": cider}
    works: dict[str, Callable[[], object]] = {
        name: partial(score, told, references, tokenizer="words") for name, score in scores.items()
    }
    if java_missing() is None:
        works["METEOR"] = partial(meteor, told, references, tokenizer="words")
        works["the Treebank tokeniser"] = partial(treebank_words, references)
    return {name: _elapsed(work) for name, work in works.items()}


def markdown(figures: Mapping[str, Any]) -> str:
    """The page."""
    rows = [f"| {name} | {taken:.1f} |" for name, taken in figures["seconds"].items()]
    words = ", ".join(f"{name} {number}" for name, number in figures["versions"].items())
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
            f"On {figures['device']}; {words}; `python -m benchmarks.caption_metrics`.",
            "",
        ]
    )


def _elapsed(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


if __name__ == "__main__":
    main(sys.argv[1:])
