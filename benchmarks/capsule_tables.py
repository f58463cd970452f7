"""The capsule paper's Tables 1, 2, 4 and 6 on the data that comes nearest to the paper's and is at hand.

Tables 1, 2, 4 and 6 on a synthetic world of clips with audio and of ordered steps; with --data, the folder of real data
sets, Table 6 also on vidrel's 347 clips, which have the paper's two-stream features and short captions. Rows that are
finished are taken as they are, interrupted ones go on:

    python -m benchmarks.capsule_tables --data ../shared/data
"""

import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.machine import processor, versions
from benchmarks.report.pages import RESULTS, Benchmark, numbered
from benchmarks.worlds import Place, vidrel
from pipelines.ingest.command import ingest
from pipelines.ingest.ingest_options import IngestFlags
from pipelines.systems.capsules.capsule_tables import TablesFlags, tables
from pipelines.tables.layout import estimate_cell
from vtr_core import storage
from vtr_core.data.manifest import Manifest
from vtr_core.data.sources.synthetic import Synthetic, SyntheticSteps
from vtr_core.metrics.intervals import estimate
from vtr_core.storage import locate

SYNTHETIC_TABLES = (1, 2, 4, 6)
SHARES = {"train": 0.7, "val": 0.1, "test": 0.2}
"""Of vidrel's clips."""
SHARING = {"Not shared": "not-shared", "Shared": ""}
"""Table 6's rows and their variants."""


@dataclass(frozen=True)
class Flags:
    """How much is trained, and where."""

    data: str | None = None
    """Folder of real data sets with a folder vidrel (default: the synthetic world alone)."""
    epochs: int = 2
    """Of a row on the synthetic world."""
    seeds: int = 1
    """Of a row on the synthetic world."""
    vidrel_epochs: int = 30
    """Of a row on vidrel."""
    vidrel_seeds: int = 3
    """Of a row on vidrel."""
    runs: str = "runs/capsule-tables"
    """Folder of the data sets and runs."""
    out: str = str(RESULTS)
    """Folder for capsule_tables.json and capsule_tables.md."""


def synthetic_tables(flags: Flags) -> str:
    """The page of `vtr tables capsules` on synthetic clips and steps, which are made if they are missing."""
    out = f"{flags.runs}/synthetic"
    data, steps = f"{out}/synthetic", f"{out}/synthetic-steps"
    ingest(Synthetic(), IngestFlags(out=data))
    ingest(SyntheticSteps(), IngestFlags(out=steps))
    table_flags = TablesFlags(
        only=SYNTHETIC_TABLES,
        preset="capsule-howto-tiny",
        data=data,
        test=(f"synthetic={data}/test",),
        steps=(f"synthetic-steps={steps}",),
        seeds=flags.seeds,
        out=out,
    )
    return tables(table_flags, _changes(flags.epochs))


def train_on_vidrel(flags: Flags) -> None:
    """Table 6's two rows on vidrel, by `vtr tables`, whose own page has cells of video + audio alone: here is none."""
    assert flags.data is not None
    test = vidrel(Place(f"{flags.runs}/vidrel", flags.data), SHARES)["test"]
    data = str(Path(test).parent)
    table_flags = TablesFlags(
        only=(6,),
        preset="capsule-howto-tiny",
        data=data,
        test=(f"vidrel={test}",),
        seeds=flags.vidrel_seeds,
        out=f"{flags.runs}/vidrel",
    )
    tables(table_flags, _changes(flags.vidrel_epochs) | {"batch.videos": 60, "batch.clips_per_video": 1})


def vidrel_table(figures: Mapping[str, Any]) -> str:
    """Text → video of Table 6's rows, from the figures that `vtr tables` keeps: for each variant, of every seed."""
    lines = ["| Method | R@1 | R@5 | R@10 | MedR |", "| --- | ---: | ---: | ---: | ---: |"]
    metrics = [f"vidrel/t2v/{name}" for name in ("r1", "r5", "r10", "medr")]
    for name, variant in SHARING.items():
        cells = [estimate_cell(estimate(figures["figures"][variant][metric]), 1) for metric in metrics]
        lines.append(f"| {name} | {' | '.join(cells)} |")
    chance = " | ".join(f"{figures['chance'][metric]:.1f}" for metric in metrics)
    return "\n".join([*lines, f"| *chance* | {chance} |"])


def _changes(epochs: int) -> dict[str, Any]:
    return {"scaling.workers": 0, "training.epochs": epochs}


def tables_alone(page: str) -> str:
    """The tables of a page without its head, from the first heading of a table on."""
    return page[page.index("\n## ") :].strip()


def markdown(flags: Flags, synthetic: str, counts: Mapping[str, int], vidrel: Mapping[str, Any] | None = None) -> str:
    """The page: what these figures are, the tables, and where they were made.

    synthetic: the page that `vtr tables` wrote; vidrel: the figures that it kept; counts: clips or videos by test set.
    """
    tested = ", ".join(f"{count} of {name}" for name, count in counts.items())
    parts = [_synthetic_head(flags), f"Tested: {tested}.", tables_alone(synthetic)]
    if vidrel is not None:
        parts += [_vidrel_head(flags), vidrel_table(vidrel)]
    parts.append(
        f"On {processor()}, load {os.getloadavg()[0]:.0f} at the end, in one process without Ray; "
        f"{numbered(versions('torch', 'ray'))}; `{command_line(flags)}`."
    )
    return "\n\n".join(parts) + "\n"


def command_line(flags: Flags) -> str:
    """The command with the flags that decide the figures, where they are not the defaults."""
    names = ("data", "epochs", "seeds", "vidrel_epochs", "vidrel_seeds")
    changed = {name: getattr(flags, name) for name in names if getattr(flags, name) != getattr(Flags, name)}
    words = [f"--{name.replace('_', '-')} {value}" for name, value in changed.items()]
    return " ".join(["python -m benchmarks.capsule_tables", *words])


def _synthetic_head(flags: Flags) -> str:
    return f"""# The capsule paper's Tables 1, 2, 4 and 6 on what is at hand

**The rows on the synthetic world show that every row trains, is evaluated and is resumed, not how methods compare.**
Epochs of `capsule-howto-tiny` on invented clips and ordered steps: {flags.epochs}; seeds: {flags.seeds}.
Learning rates are the published ones of a baseline or the preset's, searched for none: a row far below the others may
only want another rate or more steps.
Of Table 4 the sizes are a quarter, a half and twice those of the preset, 8 to 64 capsules, under the names of the
paper's rows; its time and memory are of [the routings' page](routing.md).

Cells: the paper's figure → ours, R@k and recall in percent; the paper's columns have no figures of ours, as its data is
not at hand."""


def _vidrel_head(flags: Flags) -> str:
    return f"""# Table 6 on real features

vidrel: 347 short clips with ResNet-152 and C3D features and one caption each; 70 % train, 10 % choose the checkpoint,
20 % are tested, text → video. Epochs of `capsule-howto-tiny`: {flags.vidrel_epochs}; seeds: {flags.vidrel_seeds},
mean ± half the width of the 95 % confidence interval. There is no audio, so that what is shared is shared between text
and video alone. Several clips have the same caption."""


def measure(flags: Flags) -> dict[str, Any]:
    """Train what is missing; the figures of both parts, and what the page says of them."""
    synthetic, names = synthetic_tables(flags), ["synthetic"]
    counts = {
        "synthetic clips": Manifest.load(f"{flags.runs}/synthetic/synthetic/test").rows,
        "synthetic videos of steps": Manifest.load(f"{flags.runs}/synthetic/synthetic-steps").rows,
    }
    if flags.data is not None:
        train_on_vidrel(flags)
        names.append("vidrel")
        counts["vidrel's clips"] = Manifest.load(f"{flags.runs}/vidrel/data/test").rows
    figures = {name: storage.read_json(locate(flags.runs) / name / "tables.json") for name in names}
    return {**figures, "page": markdown(flags, synthetic, counts, figures.get("vidrel"))}


BENCHMARK = Benchmark("benchmarks.capsule_tables", Flags, measure, lambda figures: figures.pop("page"))

if __name__ == "__main__":
    BENCHMARK.main(sys.argv[1:])
