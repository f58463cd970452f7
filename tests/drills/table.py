"""What a drill showed, and the table of drills: as text for the terminal, and as files."""

import json
import platform
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from benchmarks.machine import processor, versions


@dataclass(frozen=True)
class Outcome:
    """One row of the table that `make drills` prints. A drill that does not recover fails, and has no row."""

    fault: str
    """What was done to the run: "SIGKILL of a train worker"."""
    recovered: str
    """How it went on: "by itself", "with vtr train --resume"."""
    steps_lost: int
    """Optimiser steps that had to be done again."""
    seconds: float | None
    """From the fault to the first step after it; None where nothing had to recover."""


_HEADER = ("fault", "recovered", "steps lost", "seconds to recover")
COMMAND = "make drills"


def lines(outcomes: Sequence[Outcome]) -> list[str]:
    """The table with aligned columns, a heading and a rule."""
    rows = [_HEADER, *map(_cells, outcomes)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(_HEADER))]
    text = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
    return [text[0], "-" * (sum(widths) + 2 * (len(widths) - 1)), *text[1:]]


def write(outcomes: Sequence[Outcome], folder: Path) -> None:
    """`drills.json` and `drills.md` in `folder`."""
    folder.mkdir(parents=True, exist_ok=True)
    known = versions("ray", "torch", "pyarrow", "mlflow")
    machine = f"{platform.system()}, {processor()}"
    value = {
        "command": COMMAND,
        "machine": machine,
        "versions": known,
        "drills": [asdict(outcome) for outcome in outcomes],
    }
    (folder / "drills.json").write_text(json.dumps(value, indent=1) + "\n")
    (folder / "drills.md").write_text(_page(outcomes, machine, known))


def _page(outcomes: Sequence[Outcome], machine: str, known: dict[str, str]) -> str:
    rows = ["| " + " | ".join(cells) + " |" for cells in [_HEADER, ("---", "---", "---:", "---:")]]
    rows += ["| " + " | ".join(_cells(outcome)) + " |" for outcome in outcomes]
    return "\n".join(
        [
            "# Drills: faults that a run survives",
            "",
            "Every drill is a test that passes only if the weights at the end are bit-equal to those of an undisturbed",
            "run and every step was logged once, with the same loss; with bad features, if the skipped steps change",
            "nothing and a run killed and resumed on the way ends bit-equal. Where the number of workers changes, sums",
            "have another order: losses within 1e-5. Where rows are replaced, the run is another one: every step was",
            "done once, and on one worker as on two. Seconds: from the fault to the first step after it,",
            'the start of Ray or of a new worker group included; "–" where nothing had to start again.',
            "",
            *rows,
            "",
            f"`{COMMAND}` on {machine}; {', '.join(f'{name} {version}' for name, version in known.items())}.",
            "",
        ]
    )


def _cells(outcome: Outcome) -> tuple[str, ...]:
    seconds = "–" if outcome.seconds is None else f"{outcome.seconds:.1f}"
    return outcome.fault, outcome.recovered, str(outcome.steps_lost), seconds
