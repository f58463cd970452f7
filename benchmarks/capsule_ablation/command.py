"""Does the order of the paper's ablation hold? Tables 3 and 5, every row after the same search, in several worlds.

self-attention ≥ dynamic > none, and capsules > fully connected (Duarte et al., section 4.4). Every row is trained with
each setting of `TRIALS`, seed 0; the setting that finds most on validation data is trained with the other seeds, and
all seeds are judged on test data, row against row, seed by seed:

    python -m benchmarks.capsule_ablation [--worlds plain "8 scenes"] [--only routing-em]

Iterative routings and the set transformer project their secondary poses (Eq. 3 with x̂). Where a routing allows it, the
preset projects the primary ones; rows `…-secondary` are those routings with secondary poses, so that all routings are
compared under one reading of Eq. 3. Rows `…-sum` have iterations as published, whose couplings and responsibilities
are sharp from the start; the variants take means over the components. Rows that are not asked for stay on the page,
and trials that it has are not run again, unless ``--again`` says so: a search that is widened trains what is new.

All at a proxy's size, the preset `capsule-howto-tiny` and its variants for a few hundred steps, so that every row's
search takes minutes.
"""

import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from benchmarks.capsule_ablation.page import markdown
from benchmarks.capsule_ablation.rows import ROWS
from benchmarks.capsule_ablation.search import Effort, finished_rows
from benchmarks.capsule_ablation.worlds import WORLDS, Place
from benchmarks.comparison.search import Searched
from benchmarks.machine import processor, versions
from benchmarks.report.pages import page_folder, write_page
from pipelines.arguments import parse

RESULTS = Path(__file__).parents[1] / "results"
COMMAND = "python -m benchmarks.capsule_ablation"


@dataclass(frozen=True)
class Flags:
    """How large, how often, and where to work."""

    work: str = "runs/capsule-ablation"
    """Folder for data sets and runs; finished runs in it are taken as they are."""
    data: str = "../shared/data"
    """Folder of real data, for MSR-VTT-800, AVLetters and vidrel."""
    clips: int = 6000
    """Of each synthetic world."""
    steps: int = 200
    """Of every training."""
    seeds: int = 3
    """Trainings of every row at its best setting."""
    worlds: tuple[str, ...] = ("plain", "8 scenes")
    """Which of them: plain, 8 scenes, 64 scenes, MSR-VTT-800, AVLetters, vidrel."""
    only: tuple[str, ...] = ()
    """Rows to measure (default: all)."""
    minutes: float = 1e9
    """No training is begun after so many; the same command goes on, and the page names the rows that are left."""
    again: bool = False
    """Take no trial and no seed from the page (finished runs in --work are still taken)."""
    out: str = str(RESULTS)
    """Folder of the page, whose other rows are kept."""


def main(argv: Sequence[str]) -> None:
    """Run what is missing, as far as the minutes reach, and write the page of the rows that are finished."""
    flags = parse(Flags, argv, COMMAND)
    place = page_folder(flags.out) / "capsule_ablation.json"
    until = time.monotonic() + 60 * flags.minutes
    before = json.loads(place.read_text()) if place.exists() else {}
    kept = known(before, flags)
    measured = {name: measure(name, kept.get(name, {}), flags, until) for name in flags.worlds}
    found = {
        name: _in_order(kept.get(name, {}) | measured.get(name, {})) for name in WORLDS if name in {*kept, *measured}
    }
    if not any(found.values()):
        print("time is over before a row was finished; the same command goes on")
        return
    figures = {name: {row: asdict(one) for row, one in rows.items()} for name, rows in found.items()}
    machines = [*dict.fromkeys([*(before.get("machines", ()) if kept else ()), processor()])]
    settings = asdict(flags) | {"machines": machines, "versions": versions("torch", "numpy")}
    page = markdown(found, flags.steps, COMMAND, machines)
    write_page(place.parent, place.stem, settings | {"worlds": figures}, page)
    print(page)


def known(page: Mapping[str, Any], flags: Flags) -> dict[str, dict[str, Searched]]:
    """By world the rows of an earlier page with the same size, without those that are to be measured again.

    Its trials are known by their names: after a change of what a name stands for, they need ``--again``.
    """
    if any(page.get(name) != getattr(flags, name) for name in ("clips", "steps")):
        return {}
    again = (flags.only or tuple(ROWS)) if flags.again else ()
    worlds: Mapping[str, Mapping[str, Any]] = page["worlds"]
    return {
        world: {name: Searched(**row) for name, row in rows.items() if world not in flags.worlds or name not in again}
        for world, rows in worlds.items()
    }


def measure(name: str, kept: Mapping[str, Searched], flags: Flags, until: float) -> dict[str, Searched]:
    """The rows of a world that are asked for and finished, or are when the minutes are over."""
    folder, world = f"{flags.work}/{name.replace(' ', '-')}", WORLDS[name]
    data = world.make(Place(folder, flags.data, flags.clips))
    rows = {row: kept.get(row) for row in flags.only or ROWS}
    return finished_rows(rows, world, data, f"{folder}/runs", Effort(flags.steps, flags.seeds, until))


def _in_order(rows: Mapping[str, Searched]) -> dict[str, Searched]:
    return {name: rows[name] for name in ROWS if name in rows}
