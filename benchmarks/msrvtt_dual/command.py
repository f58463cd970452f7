"""The thesis's tables on held-out MSR-VTT videos: `vtr tables thesis` at the size of the data, and ridge regression.

Finished runs are taken as they are, and the page is written after every seed. Run from the repository:

    python -m benchmarks.msrvtt_dual --data ../shared/data --seeds 5
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.comparison.ridge import selected
from benchmarks.machine import processor, versions
from benchmarks.msrvtt_dual.data import tagged_videos, videos
from benchmarks.msrvtt_dual.page import markdown
from benchmarks.msrvtt_ridge import allowed_text, msrvtt, prepare, ridge
from pipelines.arguments import parse
from vtr_core.data.manifest import Manifest, splits
from vtr_core.systems.dual.tables.command import TablesFlags, tables
from vtr_core.systems.dual.tables.measure import Sets

RESULTS = Path(__file__).parent.parent / "results"
SMALLER: Mapping[str, object] = {
    "model.inputs.word_dim": 128,
    "model.video.hidden_dim": 64,
    "model.video.num_filters": 64,
    "model.text.hidden_dim": 64,
    "model.text.num_filters": 64,
    "batch.videos": 64,
    "optimizer.learning_rate": 1e-3,
    "training.epochs": 120,
    "training.validate_every": 5,
    "training.precision": "float32",
    "scaling.workers": 0,
}
"""What some 500 videos and two cores allow: encoders an eighth as wide, ten times the learning rate, 960 steps.

The spaces keep their published dimensions, the losses their weights, the learning rate its decay. Adam moves a weight
by at most about its learning rate a step, and concepts begin at a probability of a half: published trainings, 1,017
steps an epoch at 10⁻⁴, go in ten epochs about as far as 960 steps at 10⁻³.
"""
TABLES = ("3.2", "5.2", "5.3", "5.4")
ROWS = ("", "latent", "concept", "pos-spacy", "concept-pos-spacy")


@dataclass(frozen=True)
class Flags:
    """Where the data is, where to work, and what to train how often."""

    data: str = "../shared/data"
    """Folder that holds msrvtt/annotations and msrvtt/features."""
    work: str = "runs/msrvtt-dual"
    """Folder for data sets and runs; finished runs in it are taken as they are."""
    seeds: int = 3
    """Trainings of every row."""
    rows: tuple[str, ...] = ROWS
    """Variants to train, as `vtr tables thesis --rows` has them; "" is the hybrid."""


def main(argv: Sequence[str]) -> None:
    """Train what is missing, all rows with one seed before the next, and write the page after every seed."""
    flags = parse(Flags, argv, "python -m benchmarks.msrvtt_dual")
    data, work = Path(flags.data), Path(flags.work)
    sets, baseline = videos(data, work), _ridge(data, work)
    folder, tagged = (str(Path(one.train).parent) for one in (sets, tagged_videos(data, work)))
    for seeds in range(1, flags.seeds + 1):
        found = TablesFlags(
            only=TABLES,
            data=folder,
            tagged=(f"spacy={tagged}",),
            rows=flags.rows,
            seeds=seeds,
            out=str(work / "tables"),
            experiment="msrvtt-dual",
        )
        _write(tables(found, SMALLER), work / "tables", sets, baseline)


def _write(tables_page: str, out: Path, sets: Sets, baseline: Mapping[str, float]) -> None:
    """The page of the results in the folder `out` of `vtr tables thesis`, and its figures."""
    figures: dict[str, Any] = {
        "videos": {name: Manifest.load(uri).videos for name, uri in splits(str(Path(sets.train).parent)).items()},
        "rows": json.loads((out / "tables.json").read_text())["figures"],
        "ridge": dict(baseline),
        "settings": {name: value for name, value in SMALLER.items() if not name.startswith("scaling.")},
        "machine": processor(),
        "versions": versions("torch", "ray", "numpy"),
        "command": "python -m benchmarks.msrvtt_dual --data ../shared/data --seeds 5",
    }
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / "msrvtt_dual.json").write_text(json.dumps(figures, indent=1) + "\n")
    (RESULTS / "msrvtt_dual.md").write_text(markdown(figures, tables_page))


def _ridge(data: Path, work: Path) -> dict[str, float]:
    """The better of the baseline's two texts, chosen by validation."""
    source, place = msrvtt(data), work / "ridge.json"
    if not place.exists():
        text, folder = allowed_text(source, 0), work / "clips"
        made = splits(str(folder / "data"))
        sets = {name: Manifest.load(uri) for name, uri in made.items()} or prepare(source, text, folder, 0)
        best = max((selected(fits) for fits in ridge(sets, text).values()), key=lambda fit: fit.validation["r10"])
        place.write_text(json.dumps(best.test))
    found: dict[str, float] = json.loads(place.read_text())
    return found
