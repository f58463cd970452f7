"""The papers' systems with captions by a pretrained encoder, and from scratch: films, and MSR-VTT-800.

Every row of a world searches the same learning rates on validation videos, and is then trained with every seed. Films
are split by caption, MSR-VTT-800 by video; test captions search the test videos, each for its own alone.

    python -m benchmarks.pretrained_text --worlds msrvtt-capsules msrvtt-hybrid msrvtt-muse --data ../shared/data
    python -m benchmarks.pretrained_text --worlds films-capsules films-hybrid films-muse --data ../shared/data
"""

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

from benchmarks.caption_vectors import caption_vectors, write_glove
from benchmarks.comparison.rows import World, search_rows, write
from benchmarks.msrvtt_dual.data import videos
from benchmarks.msrvtt_ridge import SHARES, allowed_text, msrvtt
from pipelines.arguments import parse
from pipelines.cli import run
from pipelines.concepts.command import ConceptFlags, concepts
from pipelines.ingest.command import ingest
from pipelines.ingest.flags import IngestFlags
from vtr_core.data.manifest import splits
from vtr_core.errors import ConfigError, nearest

WORDS, TEXT = "words", "pretrained text"
RATES: Mapping[str, Mapping[str, object]] = MappingProxyType(
    {f"{rate:g}": {"optimizer.learning_rate": rate} for rate in (1e-3, 2e-3, 4e-3, 8e-3)}
)
METRICS: Mapping[str, str] = MappingProxyType({"t2v/r1": "R@1", "t2v/r5": "R@5", "t2v/r10": "R@10", "t2v/medr": "MedR"})
_IN_PROCESS: Mapping[str, object] = MappingProxyType({"scaling.workers": 0, "training.precision": "float32"})


@dataclass(frozen=True)
class System:
    """What is trained of a system: its preset, what makes its captions pretrained, and what both rows have."""

    preset: str
    text: Mapping[str, object]
    both: Mapping[str, object]
    records: str = "videos"


SYSTEMS: Mapping[str, System] = MappingProxyType(
    {
        "capsules": System("capsule-msrvtt", {"model.words.encoder": "bundled"}, {}, "clips"),
        "hybrid": System(
            "hybrid-msrvtt-tiny",
            {"model.text_encoder": "bundled"},
            {"training.epochs": 120, "training.validate_every": 10},
        ),
        "muse": System(
            "muse-msrvtt-tiny",
            {"model.text.kind": "encoder", "model.token_dim": 384},
            {"training.epochs": 120, "training.validate_every": 10},
        ),
    }
)


@dataclass(frozen=True)
class Flags:
    """Where the data is, where to work, and what to train how often."""

    data: str = "../shared/data"
    """Folder that holds films, or msrvtt/annotations and msrvtt/features."""
    work: str = "runs/pretrained-text"
    """Folder for data sets and runs; finished runs in it are taken as they are."""
    worlds: tuple[str, ...] = tuple(f"{data}-{system}" for data in ("films", "msrvtt") for system in SYSTEMS)
    """Data set and system."""
    seeds: int = 5
    """Trainings of every row with the learning rate that was best on validation videos."""


def main(argv: Sequence[str]) -> None:
    """Search, train and write a page for each world."""
    flags = parse(Flags, argv, "python -m benchmarks.pretrained_text")
    known = Flags().worlds
    for name in flags.worlds:
        if name not in known:
            raise ConfigError(f"no world {name!r}; {nearest(name, known, ', '.join(known))}")
        source, system = name.split("-")
        data = SOURCES[source](Path(flags.data), Path(flags.work), SYSTEMS[system].records)
        made = world(source, SYSTEMS[system])
        out = str(Path(flags.work) / name)
        results, searches = search_rows(made, data, out, flags.seeds, _IN_PROCESS, "pretrained-text")
        command = f"python -m benchmarks.pretrained_text --worlds {name} --seeds {flags.seeds}"
        write(made, results, f"pretrained_text_{name.replace('-', '_')}", command, searches)


def world(source: str, system: System) -> World:
    """A system's rows on a data set."""
    rows = {WORDS: system.both, TEXT: {**system.both, **system.text}}
    return World(
        name=source,
        title=f"Pretrained text on {source}",
        preset=system.preset,
        rows=rows,
        claims=((TEXT, WORDS),),
        compared="t2v/r10",
        metrics=METRICS,
        note="pretrained text: " + ", ".join(f"{name} {value}" for name, value in system.text.items()),
        trials=RATES,
    )


def _msrvtt(data: Path, work: Path, records: str) -> Mapping[str, str]:
    """MSR-VTT-800 by splits; clips have vectors of words of all captions that may be read, as in `msrvtt_ridge`."""
    if records == "videos":
        made = videos(data, work / "msrvtt")
        return {"train": made.train, "val": made.val, "test": made.test}
    out, source = str(work / "msrvtt/clips"), msrvtt(data)
    if not splits(out):
        text, vectors = allowed_text(source, 0), work / "msrvtt/caption_vectors.txt"
        vectors.parent.mkdir(parents=True, exist_ok=True)
        write_glove(caption_vectors([*text.train, *text.more]), vectors)
        flags = IngestFlags(out=out, splits=SHARES, word_vectors=str(vectors), videos_per_shard=64, workers=0)
        ingest(source, flags)
    return splits(out)


def _films(data: Path, work: Path, records: str) -> Mapping[str, str]:
    """The films by splits, as pooled clips or as whole videos with a table of concepts."""
    out = str(work / "films" / records)
    if not splits(out):
        given = [str(data / "films/videos"), "--captions", str(data / "films/films.csv"), "--recipe", "imagenet-lite"]
        run("extract", [*given, "--records", records, "--no-normalise", "--workers", "0", "--out", out])
        if records == "videos":
            concepts(ConceptFlags((out,), num_concepts=32))
    return splits(out)


SOURCES: Mapping[str, Callable[[Path, Path, str], Mapping[str, str]]] = MappingProxyType(
    {"films": _films, "msrvtt": _msrvtt}
)

if __name__ == "__main__":
    main(sys.argv[1:])
