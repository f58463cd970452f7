"""How many times as fast as slow, obvious code each thing is: a few minutes, to see that none has lost its speed.

    python -m benchmarks.smoke [--rounds 3] [--out benchmarks/results]

Each thing and its slow reference do the same work in turns in one process with one thread, and the median of the ratios
within a turn is the row. What is counted is the thread's processor time, so that other programs on the machine decide
nothing; short calls are repeated. The tests hold the rows against those of the page within a wide factor.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from time import thread_time
from timeit import Timer
from typing import Any

import torch

from benchmarks.machine import processor, versions
from benchmarks.report.pages import page_folder, write_page
from benchmarks.smoke.rows import ROWS
from pipelines.arguments import parse

RESULTS = Path(__file__).parent.parent / "results"


@dataclass(frozen=True)
class Flags:
    """How often, and where to."""

    rounds: int = 3
    """Turns that are timed, after one that is not."""
    out: str = str(RESULTS)
    """Folder for smoke.json and smoke.md."""


def main(argv: Sequence[str]) -> None:
    """Compare, print and write."""
    flags = parse(Flags, argv, "python -m benchmarks.smoke")
    out = page_folder(flags.out)
    command = " ".join(["python -m benchmarks.smoke", *argv])
    figures = {
        "rows": measure(flags.rounds),
        "device": processor(),
        "versions": versions("torch"),
        "command": command,
    }
    write_page(out, "smoke", figures, markdown(figures))
    print(markdown(figures))


def measure(rounds: int) -> list[dict[str, Any]]:
    """Every row: its name, what it is compared with, seconds of processor time of both, the ratio."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        return [
            {"name": row.name, "against": row.against, **_ratio(row.ours, row.slow, rounds)}
            for row in (make() for make in ROWS)
        ]
    finally:
        torch.set_num_threads(threads)


def _ratio(ours: Callable[[], object], slow: Callable[[], object], rounds: int) -> dict[str, float]:
    turns = [(_seconds(ours), _seconds(slow)) for _ in range(rounds + 1)][1:]
    return {
        "ours_s": median(own for own, _ in turns),
        "slow_s": median(other for _, other in turns),
        "ratio": median(other / own for own, other in turns),
    }


def _seconds(call: Callable[[], object]) -> float:
    calls, seconds = Timer(call, timer=thread_time).autorange()
    return seconds / calls


def markdown(figures: dict[str, Any]) -> str:
    """The page."""
    return "\n".join(
        [
            "# Each thing beside slow, obvious code",
            "",
            "| | against | slow, s | ours, s | times as fast |",
            "|---|---|---:|---:|---:|",
            *(
                f"| {row['name']} | {row['against']} | {row['slow_s']:.3f} | {row['ours_s']:.4f} | {row['ratio']:.1f} |"
                for row in figures["rows"]
            ),
            "",
            f"Medians of turns in one process, processor time of one thread; {figures['device']}, "
            f"torch {figures['versions']['torch']}; `{figures['command']}`.",
            "",
        ]
    )
