"""Where `vtr concepts` spends its time on MSR-VTT's 130,260 training captions: `python -m benchmarks.concepts`.

Processor time of one process: the whole table with nothing cached and with tagged captions cached, and each component
of the included tagger alone, on the same captions.
"""

import csv
import json
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from spacy.tokens import Doc

from benchmarks.machine import processor, versions
from benchmarks.report.pages import page_folder, write_page
from pipelines.arguments import parse
from pipelines.ingest.command import ingest
from pipelines.ingest.ingest_options import IngestFlags
from vtr_core.data.captions import video_captions
from vtr_core.data.concepts.building import TableSettings, build_concept_table
from vtr_core.data.manifest import Manifest
from vtr_core.data.sources.caption_table import Captions
from vtr_core.text.tagging.spacy_tagger import SHIPPED, load_pipeline, shipped_tagger
from vtr_core.text.tokens.vocabulary import clean_words

_CHUNK = 16_384
"""Captions that a component of the tagger is given together."""


@dataclass(frozen=True)
class Flags:
    """Where the captions are, and how many of the videos."""

    annotations: str = "../shared/data/msrvtt/annotations/train_val_videodatainfo.json"
    """The release's file of videos and sentences."""
    videos: int | None = None
    """The first of the training videos (default: all 6,513)."""
    out: str = str(Path(__file__).parent / "results")
    """Folder for concepts.json and concepts.md."""


def main(argv: Sequence[str]) -> None:
    """Measure, print the page and write it."""
    flags = parse(Flags, argv, "python -m benchmarks.concepts")
    out = page_folder(flags.out)
    with TemporaryDirectory() as work:
        found = measure(data_set(flags, Path(work)), work)
    figures = {**found, "device": processor(), "versions": versions("spacy", "thinc", "numpy")}
    write_page(out, "concepts", figures, markdown(figures))
    print(markdown(figures))


def data_set(flags: Flags, work: Path) -> Manifest:
    """The training captions as a data set without videos."""
    release = json.loads(Path(flags.annotations).read_text())
    training = [video["video_id"] for video in release["videos"] if video["split"] == "train"]
    kept = set(training[: flags.videos])
    told = [(one["video_id"], one["caption"]) for one in release["sentences"] if one["video_id"] in kept]
    with (work / "captions.csv").open("w", newline="") as file:
        csv.writer(file).writerows([("id", "caption"), *told])
    ingest(Captions(table=str(work / "captions.csv")), IngestFlags(out=str(work / "data"), workers=0))
    return Manifest.load(str(work / "data"))


def measure(data: Manifest, work: str) -> dict[str, Any]:
    """Captions, distinct ones, and seconds: of both tables, and of the tagger's components by name."""
    captions = [tuple(clean_words(text)) for video in video_captions(data) for text in video.captions]
    distinct = list(dict.fromkeys(captions))
    tagger = shipped_tagger()
    next(iter(tagger.tag([("a", "dog")])))  # loaded before anything is timed
    table = partial(build_concept_table, [data], tagger, TableSettings(), f"{work}/table", f"{work}/tagged")
    return {
        "captions": len(captions),
        "distinct": len(distinct),
        "new": _seconds(table),
        "cached": _seconds(table),
        "components": components(distinct),
    }


def components(captions: Sequence[Sequence[str]]) -> dict[str, float]:
    """Seconds of each component of the included tagger, by its name; "words" is making spaCy's documents."""
    language, spent = load_pipeline(str(SHIPPED)), {"words": 0.0}
    for first in range(0, len(captions), _CHUNK):
        with _added(spent, "words"):
            docs = [Doc(language.vocab, words=list(words)) for words in captions[first : first + _CHUNK]]
        for name, component in language.pipeline:
            with _added(spent, name):
                docs = list(_piped(component, docs))
    return spent


def markdown(figures: dict[str, Any]) -> str:
    """The page: shares of the table that is made with nothing cached."""
    whole, inside = figures["new"], figures["components"]
    rows = {
        "the table, nothing cached": whole,
        "the table, all captions tagged before": figures["cached"],
        **{f"tagging: `{name}`": seconds for name, seconds in inside.items()},
        "the rest of the first: cleaning, tags out of spaCy, counting, writing": whole - sum(inside.values()),
    }
    words = ", ".join(f"{name} {number}" for name, number in figures["versions"].items())
    captions, distinct = figures["captions"], figures["distinct"]
    return "\n".join(
        [
            "# Where `vtr concepts` spends its time",
            "",
            f"{captions:,} captions of MSR-VTT's training videos, {distinct:,} distinct; one process.",
            "",
            "| | processor s | share |",
            "|---|---:|---:|",
            *(f"| {name} | {seconds:.1f} | {seconds / whole:.2f} |" for name, seconds in rows.items()),
            "",
            f"On {figures['device']}; {words}; `python -m benchmarks.concepts`.",
            "",
        ]
    )


def _piped(component: Any, docs: Iterable[Doc]) -> Iterable[Doc]:
    """The documents through a component, which is a function where it has no `pipe`."""
    return component.pipe(docs) if hasattr(component, "pipe") else map(component, docs)


def _seconds(work: Callable[[], object]) -> float:
    start = time.process_time()
    work()
    return time.process_time() - start


@contextmanager
def _added(spent: dict[str, float], name: str) -> Iterator[None]:
    start = time.process_time()
    yield
    spent[name] = spent.get(name, 0.0) + time.process_time() - start


if __name__ == "__main__":
    main(sys.argv[1:])
