"""Clients search an index of generated clips, served by `vtr serve` in another process of the same machine.

    python -m benchmarks.serving [--clips 100000] [--clients 50] [--seconds 60] [--ray --replicas 2 --kill]

Twice: without pause, so that the server is never idle and the time of an answer is the clients' number through its
rate; and with a pause of a second on average between a client's answer and next question, as people make. With --kill a
replica is killed halfway through each.
"""

import asyncio
import os
import re
import subprocess
import sys
import tempfile
import threading
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import psutil

from benchmarks.machine import processor, versions
from benchmarks.report.pages import page_folder, write_page
from benchmarks.serving.index import PRESET, generated_index
from benchmarks.serving.load import Load, load
from benchmarks.serving.page import markdown
from pipelines.arguments import parse

_PAUSES_S = {"without pause": 0.0, "with a pause of 1 s": 1.0}
_REPLICA = "ServeReplica:"
_HTTP = ("httptools", "uvloop")
"""What uvicorn takes where it is installed, as by the extra `serve`."""


@dataclass(frozen=True)
class Flags:
    """Sizes."""

    clips: int = 100_000
    dim: int = 512
    clients: int = 50
    seconds: float = 60.0
    ray: bool = False
    """Serve by replicas on Ray Serve."""
    replicas: int = 2
    """With --ray."""
    shards: int = 1
    """With --ray."""
    kill: bool = False
    """With --ray: kill a replica halfway."""
    out: str = str(Path(__file__).parent.parent / "results")
    """Folder for serving.json and serving.md, or serving_ray.*"""


def main(argv: Sequence[str]) -> None:
    """Serve, load, print and write."""
    flags = parse(Flags, argv, "python -m benchmarks.serving")
    out = page_folder(flags.out)
    with tempfile.TemporaryDirectory() as folder:
        index, words = generated_index(Path(folder), flags.clips, flags.dim)
        figures = {**_about(flags, argv), "runs": _measured(flags, index, words)}
    name = "serving_ray" if flags.ray else "serving"
    page = markdown(figures)
    print(page)
    write_page(out, name, figures, page)


def _about(flags: Flags, argv: Sequence[str]) -> dict[str, Any]:
    settings = {name: value for name, value in asdict(flags).items() if name != "out"}
    return {
        **settings,
        "preset": PRESET,
        "http": ", ".join(name for name in _HTTP if find_spec(name)) or "h11, asyncio",
        "machine": processor(),
        "versions": versions("torch", "fastapi", "uvicorn", "ray"),
        "command": " ".join(["python -m benchmarks.serving", *argv]),
    }


def _measured(flags: Flags, index: str, words: Sequence[str]) -> dict[str, dict[str, Any]]:
    """The figures of both ways to ask, each with the machine's load before it: processes that want a core."""
    found = {}
    with _served(flags, index) as (url, server):
        for name, pause_s in _PAUSES_S.items():
            before, queued = os.getloadavg()[0], psutil.cpu_percent(1.0)
            killing = threading.Timer(flags.seconds / 2, _kill_one, [server]) if flags.kill else None
            if killing is not None:
                killing.start()
            seen = asyncio.run(load(url, words, flags.clients, flags.seconds, pause_s))
            found[name] = {**_figures(seen), "load_before": before, "busy_before_percent": queued}
        found["without pause"]["queries_of_a_batch"] = _batch_size(url)
    return found


def _figures(seen: Load) -> dict[str, Any]:
    return {
        "answers": len(seen.seconds),
        "faults": dict(seen.faults),
        "per_second": len(seen.seconds) / seen.wall_s,
        "clients_cores": seen.cpu_s / seen.wall_s,
        **{f"p{100 * share:g}_ms": seen.quantile_ms(share) for share in (0.5, 0.9, 0.99, 1.0)},
    }


@contextmanager
def _served(flags: Flags, index: str) -> Iterator[tuple[str, psutil.Process]]:
    """The address and the process of a server, once it answers."""
    ray = ["--ray", "--replicas", str(flags.replicas), "--shards", str(flags.shards)] if flags.ray else []
    command = [sys.executable, "-m", "pipelines.serve", "--index", index, "--port", "0", *ray]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            found = next(filter(None, (re.search(r"http://\S+", line) for line in process.stdout)), None)
            if found is None:
                raise SystemExit("the server did not start")
            yield found.group(), psutil.Process(process.pid)
        finally:
            process.send_signal(2)


def _kill_one(server: psutil.Process) -> None:
    """SIGKILL one replica among the server's descendants."""
    replicas = [process for process in server.children(recursive=True) if _REPLICA in " ".join(process.cmdline())]
    replicas[0].kill()


def _batch_size(url: str) -> float:
    with urllib.request.urlopen(f"{url}metrics") as response:
        text = response.read().decode()
    total, number = (
        float(re.findall(rf"^vtr_batch_queries_{name} (\S+)$", text, re.M)[0]) for name in ("sum", "count")
    )
    return total / number
