"""A run's page for trackers, and lines of its metrics."""

import json
from pathlib import Path

from vtr_core.storage import locate
from vtr_core.tracking.other_trackers import RunPage
from vtr_core.tracking.run_log import Line


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


def lines(*steps: int) -> list[Line]:
    """Lines of metrics.jsonl."""
    return [
        {"step": step, "time": 1000.0 + step, "train/loss": 1 / step, "train/data_wait": 1 / (step + 1)}
        for step in steps
    ]


def write_metrics(folder: Path, *steps: int) -> None:
    """metrics.jsonl with these points."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "metrics.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines(*steps)))
