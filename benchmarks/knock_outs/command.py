"""What each system's central mechanism is worth: switched off at test time, and trained without.

Every mechanism is one row: its preset is trained with some seeds, evaluated as it is and without the mechanism, and
trained anew without it, on the data where the mechanism should matter. Runs that are finished are taken as they are,
interrupted ones go on, and the page keeps the rows that were measured before:

    python -m benchmarks.knock_outs --data ../shared/data --seeds 5 --only muse-scale-4
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.knock_outs.measure import measure
from benchmarks.knock_outs.mechanisms import MECHANISMS
from benchmarks.knock_outs.page import markdown
from benchmarks.knock_outs.worlds import Place
from benchmarks.report.pages import page_folder, write_page
from pipelines.arguments import parse

RESULTS = Path(__file__).parents[1] / "results"


@dataclass(frozen=True)
class Flags:
    """Where the data is, where to work, which rows, how often."""

    data: str = "../shared/data"
    """Folder that holds msrvtt/annotations, msrvtt/features and att_faces."""
    work: str = "runs/knock-outs"
    """Folder for data sets and runs."""
    seeds: int = 5
    """Trainings with the mechanism, and as many without."""
    only: tuple[str, ...] = ()
    """Rows to measure (default: all)."""
    set: tuple[str, ...] = ()
    """Settings of all runs, NAME=VALUE, such as fewer epochs; another --work for other settings."""
    out: str = str(RESULTS)
    """Folder of the page."""


def main(argv: Sequence[str]) -> None:
    """Measure the rows that are asked for, one after the other, and write the page after each."""
    flags = parse(Flags, argv, "python -m benchmarks.knock_outs")
    place = page_folder(flags.out) / "knock_outs.json"
    settings = {text.partition("=")[0]: json.loads(text.partition("=")[2]) for text in flags.set}
    for name in flags.only or tuple(MECHANISMS):
        row = measure(name, Place(flags.work, flags.data), flags.seeds, settings)
        known: dict[str, Any] = json.loads(place.read_text()) if place.exists() else {}
        known[name] = row
        known = {each: known[each] for each in MECHANISMS if each in known}
        write_page(place.parent, place.stem, known, markdown(known))
    print(place.with_suffix(".md").read_text())
