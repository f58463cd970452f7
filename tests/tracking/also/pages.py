"""A run's page for trackers, and points."""

import json
from pathlib import Path

from vtr_core.storage import locate
from vtr_core.tracking.other_trackers import RunPage
from vtr_core.tracking.run import Point


def page(folder: Path, group: str | None = None) -> RunPage:
    return RunPage(
        folder=locate(str(folder)),
        identity="0123456789abcdef",
        name="abcdefg-tiny",
        experiment="vtr",
        group=group,
        note="Training of `tiny`.",
        settings={"batch.videos": 8, "data": "s3://key:secret@host/data"},
    )


def points(*steps: int) -> list[Point]:
    return [
        Point(name, 1 / (step + place), step, 1_000_000 + 1000 * step)
        for step in steps
        for place, name in enumerate(("train/loss", "train/data_wait"))
    ]


def write_metrics(folder: Path, *steps: int) -> None:
    """metrics.jsonl with these points."""
    folder.mkdir(parents=True, exist_ok=True)
    lines = [{"step": step, "time": 1000.0 + step, "train/loss": 1 / step} for step in steps]
    (folder / "metrics.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
