"""The thesis's tables on held-out MSR-VTT videos: `vtr tables thesis` with its published settings, at a smaller size.

All rows are trained with one seed before the next, finished runs are taken as they are, as are figures of the page that
were made with the same settings of as many videos, and the page is written after every seed. Run from the repository:

    python -m benchmarks.msrvtt_dual --data ../shared/data --seeds 5
    python -m benchmarks.msrvtt_dual --data ../shared/data --new-seeds 10 11 12 13 14

The second command answers a question of its own, with models that no choice has seen: do the searches that hold mAP
hold it, with how much C@10? It replaces that section of the page and leaves the rest.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.machine import processor, versions
from benchmarks.msrvtt_dual.data import PRESET, thesis_videos
from benchmarks.msrvtt_dual.new_seeds import train_new_seeds
from benchmarks.msrvtt_dual.page import NAMES, markdown
from benchmarks.report.pages import write_page
from pipelines.arguments import parse
from pipelines.systems.dual.thesis_measurements import Sets
from pipelines.systems.dual.thesis_tables import SET, TablesFlags, tables
from pipelines.tables.runs import TestSet, figures_file, run_folder
from vtr_core.data.manifest import Manifest

RESULTS = Path(__file__).parent.parent / "results"
SMALLER: Mapping[str, object] = {
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
"""What some 500 videos and two cores allow: encoders an eighth as wide, ten times the learning rate, 1,080 steps.

The spaces keep their published dimensions, the losses their weights, the learning rate its decay. Adam moves a weight
by at most about its learning rate a step, and concepts begin at a probability of a half: published trainings, 1,017
steps an epoch at 10⁻⁴, go in ten epochs about as far as 1,080 steps at 10⁻³.
"""
TABLES = ("3.2", "3.3", "5.2", "5.3", "5.4")


@dataclass(frozen=True)
class Flags:
    """Where the data is, where to work, and what to train how often."""

    data: str = "../shared/data"
    """Folder that holds msrvtt/annotations and msrvtt/features."""
    work: str = "runs/msrvtt-dual"
    """Folder for data sets and runs; finished runs in it are taken as they are."""
    seeds: int = 3
    """Trainings of every row."""
    new_seeds: tuple[int, ...] = ()
    """Train the hybrid and the concepts alone with these seeds in place of everything else."""
    rows: tuple[str, ...] = tuple(NAMES)
    """Variants to train, as `vtr tables thesis --rows` has them; "" is the hybrid."""


def main(argv: Sequence[str]) -> None:
    """Train what is missing, all rows with one seed before the next, and write the page after every seed."""
    flags = parse(Flags, argv, "python -m benchmarks.msrvtt_dual")
    data, work = Path(flags.data), Path(flags.work)
    if flags.new_seeds:
        plain = thesis_videos(data, work, pos=False)
        _write_new_seeds(train_new_seeds(flags.new_seeds, plain, str(work / "new-seeds"), SMALLER), flags.new_seeds)
        return
    plain, tagged = (thesis_videos(data, work, pos=pos) for pos in (False, True))
    _take_over(RESULTS / "msrvtt_dual.json", work / "tables", plain)
    for seeds in range(1, flags.seeds + 1):
        asked = TablesFlags(
            only=TABLES,
            preset=PRESET,
            data=str(Path(plain.train).parent),
            tagged=(f"spacy={Path(tagged.train).parent}",),
            rows=flags.rows,
            seeds=seeds,
            out=str(work / "tables"),
            experiment="msrvtt-dual",
        )
        _write(tables(asked, SMALLER), work / "tables", plain)


def _take_over(page: Path, out: Path, sets: Sets) -> None:
    """The page's figures as those of finished runs in `out`, where they are of the same settings and as many videos."""
    known: dict[str, Any] = json.loads(page.read_text()) if page.exists() else {}
    if (known.get("settings"), known.get("videos")) != (_settings(), _videos(sets)):
        return
    for row in NAMES:
        figures = known["rows"].get(row, {})
        for seed in range(max((len(values) for values in figures.values()), default=0)):
            file = Path(figures_file(run_folder(str(out), row, seed), TestSet(SET, sets.test, "thesis")))
            if not file.exists():
                file.parent.mkdir(parents=True, exist_ok=True)
                found = {name: values[seed] for name, values in figures.items() if seed < len(values)}
                file.write_text(json.dumps({"uri": sets.test, "figures": found, "chance": {}}))


def _settings() -> dict[str, Any]:
    """What differs from the published preset, but for where trainings run."""
    return {name: value for name, value in SMALLER.items() if not name.startswith("scaling.")}


def _videos(sets: Sets) -> list[int]:
    return [Manifest.load(uri).videos for uri in (sets.train, sets.val, sets.test)]


def _write(tables_page: str, out: Path, sets: Sets) -> None:
    """The page of the results in the folder `out` of `vtr tables thesis`, and its figures; the new seeds stay."""
    new_seeds = _known().get("new_seeds")
    figures: dict[str, Any] = {
        "videos": _videos(sets),
        "rows": json.loads((out / "tables.json").read_text())["figures"],
        "settings": _settings(),
        "machine": processor(),
        "versions": versions("torch", "ray", "numpy"),
        "command": "python -m benchmarks.msrvtt_dual --data ../shared/data --seeds 5",
        **({"new_seeds": new_seeds} if new_seeds else {}),
    }
    write_page(RESULTS, "msrvtt_dual", figures, markdown(figures, tables_page))


def _write_new_seeds(rows: Mapping[str, Any], seeds: Sequence[int]) -> None:
    """The page with the section of new seeds replaced; its tables are those that it has."""
    figures = _known() | {"new_seeds": {"seeds": list(seeds), "rows": rows}}
    page = (RESULTS / "msrvtt_dual.md").read_text()
    tables_page = page[page.index("## Table ") : page.rindex("\nOn ")]
    write_page(RESULTS, "msrvtt_dual", figures, markdown(figures, tables_page))


def _known() -> dict[str, Any]:
    page = RESULTS / "msrvtt_dual.json"
    known: dict[str, Any] = json.loads(page.read_text()) if page.exists() else {}
    return known
