"""Objects read and written by this project's storage, by pyarrow's own S3 file system and by obstore, in turns.

    python -m benchmarks.store [--rounds 3] [--seconds 2]

Every client has a process of its own for each turn and the same server, which fails as benchmarks/store/server.py says.
"""

import json
import random
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.machine import processor, versions
from benchmarks.report.pages import page_folder, write_page
from benchmarks.store.clients import BUCKET, CLIENTS, OBJECT_BYTES, READ
from benchmarks.store.server import FAULTS
from pipelines.arguments import parse

ROOT = Path(__file__).parents[2]
Turn = dict[str, dict[str, Any]]


@dataclass(frozen=True)
class Flags:
    """How often, for how long."""

    rounds: int = 3
    """Rounds in which every client has its turn."""
    seconds: float = 2.0
    """Of each operation."""
    out: str = str(Path(__file__).parent.parent / "results")
    """Folder for store.json and store.md."""


def main(argv: Sequence[str]) -> None:
    """Measure, print the page and write it."""
    flags = parse(Flags, argv, "python -m benchmarks.store")
    out = page_folder(flags.out)
    figures = measure(flags)
    write_page(out, "store", figures, markdown(figures))
    print(markdown(figures))


def measure(flags: Flags) -> dict[str, Any]:
    """The turns of every client at every fault."""
    found: dict[str, dict[str, list[Turn]]] = {}
    with tempfile.TemporaryDirectory(prefix="vtr-store-") as folder:
        place = Path(folder) / BUCKET
        place.mkdir()
        (place / READ).write_bytes(random.Random(1).randbytes(OBJECT_BYTES))
        for fault in FAULTS:
            with _server(Path(folder), fault) as endpoint:
                turns = [(name, _turn(name, endpoint, flags)) for _ in range(flags.rounds) for name in CLIENTS]
            found[fault] = {name: [turn for other, turn in turns if other == name] for name in CLIENTS}
    command = f"python -m benchmarks.store --rounds {flags.rounds} --seconds {flags.seconds:g}"
    return {"found": found, "device": processor(), "versions": versions("pyarrow", "obstore"), "command": command}


@contextmanager
def _server(folder: Path, fault: str) -> Iterator[str]:
    """A server's address, for as long as the context lasts."""
    command = [sys.executable, "-m", "benchmarks.store.server", "--folder", str(folder), "--fault", fault]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        assert process.stdout is not None
        try:
            yield f"http://127.0.0.1:{int(process.stdout.readline())}"
        finally:
            process.kill()


def _turn(client: str, endpoint: str, flags: Flags) -> Turn:
    words = ["--client", client, "--endpoint", endpoint, "--seconds", str(flags.seconds)]
    command = [sys.executable, "-m", "benchmarks.store.clients", *words]
    done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    if done.returncode != 0:
        raise SystemExit(f"{' '.join(command)} ended with {done.returncode}")
    turn: Turn = json.loads(done.stdout.splitlines()[-1])
    return turn


def markdown(figures: dict[str, Any]) -> str:
    """The page."""
    used = ", ".join(f"{name} {number}" for name, number in figures["versions"].items())
    return "\n".join(
        [
            "# Reading and writing objects",
            "",
            "MB per second of the client's processor time and, in brackets, of time; medians. Every tenth request",
            "fails with a 503, a reset, or a cut in the middle of the answer; slow: every answer waits 20 ms.",
            "",
            "| fault | operation | client | MB/s | to ours |",
            "|---|---|---|---:|---:|",
            *_rows(figures["found"]),
            "",
            f"On {figures['device']}; {used}; `{figures['command']}`.",
            "",
        ]
    )


def _rows(found: dict[str, dict[str, list[Turn]]]) -> Iterator[str]:
    for fault, clients in found.items():
        for operation in clients["ours"][0]:
            ours = _median(clients["ours"], operation, "mb_per_cpu_s")
            for name, turns in clients.items():
                ended = [turn[operation]["ended"] for turn in turns if "ended" in turn[operation]]
                if ended:
                    yield f"| {fault} | {operation} | {name} | {ended[0]} | |"
                    continue
                per_cpu, wall = (_median(turns, operation, unit) for unit in ("mb_per_cpu_s", "mb_per_s"))
                ratio = f"{per_cpu / ours:.2f}" if ours else ""
                yield f"| {fault} | {operation} | {name} | {per_cpu:,.0f} ({wall:,.0f}) | {ratio} |"


def _median(turns: list[Turn], operation: str, unit: str) -> float:
    return median(float(turn[operation].get(unit, 0)) for turn in turns)
