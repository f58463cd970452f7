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
import time
import urllib.request
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import aiohttp
import numpy as np
import psutil
import torch

from benchmarks.report.pages import RESULTS, Benchmark, origin
from vtr_core.config.override import override
from vtr_core.data.ingest.ingest import begin, do, finish
from vtr_core.data.ingest.plan import IngestOptions, plan_ingest
from vtr_core.data.shards.word_table import WordTable
from vtr_core.data.sources.synthetic import Synthetic
from vtr_core.embedding.embedded_rows import model_fingerprint
from vtr_core.retrieval.index.index import IndexRecord, Shard, VideoIndex, save_index
from vtr_core.retrieval.index.items import Item
from vtr_core.run.build import build_model
from vtr_core.run.inputs import with_inputs
from vtr_core.run.presets import preset
from vtr_core.storage import locate
from vtr_core.train.checkpoint.checkpoint_files import Checkpoint, Progress, save_checkpoint

PRESET = "capsule-howto-tiny"
_CLIP_S, _CLIPS_PER_VIDEO = 5.0, 20
_DATA_CLIPS = 300
"""Of the data set that the vocabulary comes from."""


def generated_index(folder: Path, num_clips: int, dim: int) -> tuple[str, tuple[str, ...]]:
    """An index of `num_clips` random vectors of `dim` dimensions, and the words of its queries.

    The model has the size of its preset but for `dim`, with random weights: what a search costs does not depend on
    them.
    """
    plan = plan_ingest(Synthetic(num_clips=_DATA_CLIPS), locate(str(folder / "data")), None, IngestOptions())
    for task in begin(plan):
        do(plan, task)
    data = finish(plan).manifests[0]
    words = WordTable.load(data).vocabulary
    torch.manual_seed(0)
    config = with_inputs(
        override(preset(PRESET), {"model.embedding_dim": dim, "evaluation.similarity": "cosine"}), data
    )
    model = build_model(config.model)
    checkpoint = str(folder / "model")
    save_checkpoint(locate(checkpoint), Checkpoint(config, model.state_dict(), {}, Progress(step=0), words))
    vectors = np.random.default_rng(0).standard_normal((num_clips, dim), np.float32)
    record = IndexRecord(
        kind="joint",
        checkpoint=checkpoint,
        model_fingerprint=model_fingerprint(model),
        preset=PRESET,
        data=str(folder / "none"),
        data_fingerprint="",
        num_items=num_clips,
        sizes={"video": dim},
        similarity="cosine",
        latent_weight=0.0,
    )
    tensors = {"video": vectors, "has_video": np.ones(num_clips, bool)}
    save_index(locate(str(folder / "index")), VideoIndex.of(record, Shard.of(tensors, map(_clip, range(num_clips)))))
    return str(folder / "index"), tuple(words.words)


def _clip(number: int) -> Item:
    video, clip = divmod(number, _CLIPS_PER_VIDEO)
    return Item(f"v{video}:{clip}", f"v{video}", clip * _CLIP_S, (clip + 1) * _CLIP_S)


WORDS_PER_QUERY = 6


@dataclass(frozen=True)
class Load:
    """What the clients saw."""

    seconds: tuple[float, ...]
    """Time of every request that was answered."""
    faults: Counter[str]
    """Requests that were not answered by 200, by status or kind of error."""
    wall_s: float
    cpu_s: float
    """Processor time of the clients, who share the server's machine."""

    def quantile_ms(self, share: float) -> float:
        """A quantile of the times, in ms."""
        return 1000 * float(np.quantile(self.seconds, share))


async def load(url: str, words: Sequence[str], clients: int, seconds: float, pause_s: float) -> Load:
    """Searches of `clients` for `seconds`; after each answer a client pauses for an exponential time of mean `pause_s`.

    Queries are of random words, no two the same but by chance.
    """
    answered: list[float] = []
    faults: Counter[str] = Counter()
    begun, begun_cpu = time.perf_counter(), time.process_time()
    known = np.array(words)

    async def client(number: int, session: aiohttp.ClientSession) -> None:
        rng = np.random.default_rng(number)
        while time.perf_counter() - begun < seconds:
            if pause_s:
                await asyncio.sleep(rng.exponential(pause_s))
            began = time.perf_counter()
            params = {"q": " ".join(rng.choice(known, WORDS_PER_QUERY))}
            try:
                async with session.get(f"{url}api/search", params=params) as response:
                    await response.read()
                    if response.status == 200:
                        answered.append(time.perf_counter() - began)
                    else:
                        faults[str(response.status)] += 1
            except aiohttp.ClientError as error:
                faults[type(error).__name__] += 1

    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=clients)) as session:
        await asyncio.gather(*(client(number, session) for number in range(clients)))
    return Load(tuple(answered), faults, time.perf_counter() - begun, time.process_time() - begun_cpu)


P99_MS = 300.0
"""Goal."""
SIZE = {"clients": 50, "clips": 100_000, "seconds": 60}
"""What the goal is for; it is not judged by less."""


def markdown(figures: Mapping[str, Any]) -> str:
    """The page."""
    rows = [_row(name, run) for name, run in figures["runs"].items()]
    return "\n".join(
        [
            f"# {figures['clients']} clients search {figures['clips']:,} clips",
            "",
            f"For {figures['seconds']:g} s each, over HTTP, from a process on the same machine. {_how(figures)}",
            f"The clips are generated: one vector of {figures['dim']} dimensions each, compared by cosine with every",
            f"query, exactly. Queries are embedded by the text tower of {figures['preset']} with random weights.",
            "",
            "| clients ask | answers | faults | per second | p50 ms | p90 ms | p99 ms | slowest ms | load before |",
            "|---|---:|---:|---:|---:|---:|---:|---:|---:|",
            *rows,
            "",
            f"Goal: no fault, p99 at most {P99_MS:g} ms: {_judged(figures)}.",
            f"A batch had {figures['runs']['without pause']['queries_of_a_batch']:.1f} queries on average. "
            f"The clients took {_clients_percent(figures):.0f} % of a core. HTTP was read by {figures['http']}.",
            "The load is the machine's mean number of processes that want a core, in the minute before.",
            "",
            origin(figures),
            "",
        ]
    )


def _judged(figures: Mapping[str, Any]) -> str:
    """Which runs reach the goal, where there were as many clients and clips, for as long, as it is for."""
    if any(figures[name] < least for name, least in SIZE.items()):
        size = f"{SIZE['clients']} clients, {SIZE['clips']:,} clips and {SIZE['seconds']} s"
        return f"not judged, as it is for {size}"
    missed = [name for name, run in figures["runs"].items() if run["p99_ms"] > P99_MS or run["faults"]]
    reached = [name for name in figures["runs"] if name not in missed]
    return "; ".join([*(f"reached {name}" for name in reached), *(f"**not reached** {name}" for name in missed)])


def _clients_percent(figures: Mapping[str, Any]) -> float:
    return 100 * max(run["clients_cores"] for run in figures["runs"].values())


def _how(figures: Mapping[str, Any]) -> str:
    if not figures["ray"]:
        return "The server is one process."
    killed = " One replica is killed after half of the time." if figures["kill"] else ""
    return f"The server has {figures['replicas']} replicas of {figures['shards']} shards on Ray Serve.{killed}"


def _row(name: str, run: Mapping[str, Any]) -> str:
    faults = ", ".join(f"{count} {kind}" for kind, count in run["faults"].items()) or "0"
    times = " | ".join(f"{run[f'p{share}_ms']:.0f}" for share in (50, 90, 99, 100))
    return f"| {name} | {run['answers']:,} | {faults} | {run['per_second']:.0f} | {times} | {run['load_before']:.1f} |"


_PAUSES_S = {"without pause": 0.0, "with a pause of 1 s": 1.0}
_REPLICA = "ServeReplica:"


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
    out: str = str(RESULTS)
    """Folder for serving.json and serving.md, or serving_ray.*"""


def measure(flags: Flags) -> dict[str, Any]:
    """Serve an index, and load the server."""
    with tempfile.TemporaryDirectory() as folder:
        index, words = generated_index(Path(folder), flags.clips, flags.dim)
        runs = _measured(flags, index, words)
    http = f"h11, {'uvloop' if find_spec('uvloop') else 'asyncio'}"
    settings = {name: value for name, value in asdict(flags).items() if name != "out"}
    return {**settings, "preset": PRESET, "http": http, "runs": runs}


def _measured(flags: Flags, index: str, words: Sequence[str]) -> dict[str, dict[str, Any]]:
    """The figures of both ways to ask, each with the machine's load before it: processes that want a core."""
    runs = {}
    with _served(flags, index) as (url, server):
        for name, pause_s in _PAUSES_S.items():
            before, queued = os.getloadavg()[0], psutil.cpu_percent(1.0)
            killing = threading.Timer(flags.seconds / 2, _kill_one, [server]) if flags.kill else None
            if killing is not None:
                killing.start()
            answers = asyncio.run(load(url, words, flags.clients, flags.seconds, pause_s))
            runs[name] = {**_figures(answers), "load_before": before, "busy_before_percent": queued}
        runs["without pause"]["queries_of_a_batch"] = _batch_size(url)
    return runs


def _figures(answers: Load) -> dict[str, Any]:
    return {
        "answers": len(answers.seconds),
        "faults": dict(answers.faults),
        "per_second": len(answers.seconds) / answers.wall_s,
        "clients_cores": answers.cpu_s / answers.wall_s,
        **{f"p{100 * share:g}_ms": answers.quantile_ms(share) for share in (0.5, 0.9, 0.99, 1.0)},
    }


@contextmanager
def _served(flags: Flags, index: str) -> Iterator[tuple[str, psutil.Process]]:
    """The address and the process of a server, once it answers."""
    ray = ["--ray", "--replicas", str(flags.replicas), "--shards", str(flags.shards)] if flags.ray else []
    command = [sys.executable, "-m", "pipelines.serve", "--index", index, "--port", "0", *ray]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            address = next(filter(None, (re.search(r"http://\S+", line) for line in process.stdout)), None)
            if address is None:
                raise SystemExit("the server did not start")
            yield address.group(), psutil.Process(process.pid)
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


BENCHMARK = Benchmark(
    "benchmarks.serving",
    Flags,
    measure,
    markdown,
    (
        "torch",
        "fastapi",
        "uvicorn",
        "ray",
    ),
)

if __name__ == "__main__":
    by_ray = replace(BENCHMARK, name="serving_ray")
    (by_ray if "--ray" in sys.argv else BENCHMARK).main(sys.argv[1:])
