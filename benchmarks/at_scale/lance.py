"""The files of an index beside tables of Lance with the same vectors, ids and captions.

    python -m benchmarks.at_scale.lance --lance-python .venv-lance/bin/python [--clips 200000] [--dim 512]

The environment of Lance is made by `python -m venv .venv-lance` and
`.venv-lance/bin/pip install -r benchmarks/peers/lance.txt`. Vectors are those of `benchmarks.at_scale.candidates`.
Everything is written and searched in a process of its own, with the files in the page cache.
"""

import json
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pyarrow as pa
import torch

from benchmarks.at_scale import candidates
from benchmarks.machine import versions
from benchmarks.report.pages import RESULTS, Benchmark, origin
from vtr_core.retrieval.index.build import new_shard
from vtr_core.retrieval.index.index import (
    DEFAULT_CANDIDATES,
    Backend,
    IndexRecord,
    Shard,
    VideoIndex,
    load_index,
    save_index,
)
from vtr_core.retrieval.index.items import Items
from vtr_core.retrieval.search.index_search import JointShard
from vtr_core.storage import locate

ROOT = RESULTS.parents[1]
K = 10
KINDS: tuple[Backend, ...] = ("exact", "ivf-pq", "hnsw")
OURS, LANCE = "benchmarks.at_scale.lance", "benchmarks.peers.lance_table"


@dataclass(frozen=True)
class Flags:
    """What is measured."""

    lance_python: str = ".venv-lance/bin/python"
    """The Python that has benchmarks/peers/lance.txt."""
    clips: int = 200_000
    dim: int = 512
    queries: int = 20
    threads: int = 2
    out: str = str(RESULTS)
    action: Literal["measure", "write", "search"] = "measure"
    """write, search: used by the command itself, for one kind of index of ours in a process of its own."""
    kinds: tuple[Backend, ...] = KINDS
    """Kinds of index that are measured."""
    kind: Backend = "exact"
    folder: str = ""
    """Where vectors, indexes and figures are kept; the same command again measures what is not there yet (default: a
    temporary folder)."""


def made_items(clips: int) -> Items:
    """Ids with as many captions."""
    names, times = pa.array([f"clip{number:09d}" for number in range(clips)]), pa.array(np.zeros(clips))
    return Items(pa.table({"item_id": names, "video_id": names, "start": times, "end": times, "caption": names}))


def made_record(clips: int, dim: int, backend: Backend) -> IndexRecord:
    """The record of an index of one joint space."""
    return IndexRecord(
        kind="joint",
        checkpoint="generated",
        model_fingerprint="0" * 64,
        preset="generated",
        data="generated",
        data_fingerprint="0" * 64,
        num_items=clips,
        sizes={"video": dim},
        similarity="cosine",
        latent_weight=0.5,
        backend=backend,
    )


def _peak_gb() -> float:
    """Peak memory of this process; that of getrusage would count its parent's too."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) / 2**20


def write(kind: Backend, folder: Path) -> dict[str, Any]:
    """Write our index with ids and captions; its seconds and bytes."""
    clips = np.load(folder / "clips.npy", mmap_mode="r")
    rows, dim = clips.shape
    began = time.perf_counter()
    tensors = {"video": np.asarray(clips), "has_video": np.ones(rows, bool)}
    shard = new_shard(tensors, made_items(rows), kind)
    index = VideoIndex.of(made_record(rows, dim, kind), shard)
    record = save_index(locate(str(folder / f"ours-{kind}")), index)
    seconds = time.perf_counter() - began
    size = sum(file.bytes for file in record.files)
    return {"build_s": seconds, "build_cpu_s": time.process_time(), "bytes": size, "build_peak_gb": _peak_gb()}


def search(kind: Backend, folder: Path) -> dict[str, Any]:
    """The seconds of opening our index and of each query with its items, and the positions found."""
    queries = np.load(folder / "queries.npy")
    idle = _peak_gb()
    began = time.perf_counter()
    index = load_index(locate(str(folder / f"ours-{kind}")))
    opened = time.perf_counter() - began
    stored: Shard = index.shards[0]
    shard = JointShard(stored, "cosine", DEFAULT_CANDIDATES[kind])
    seconds, positions, before = [], [], time.process_time()
    for query in queries:
        began = time.perf_counter()
        (near,) = shard.nearest(query[None], K, None)
        hits = [index.items[place] for place in near.positions]
        seconds.append(time.perf_counter() - began)
        positions.append([int(hit.item_id.removeprefix("clip")) for hit in hits])
    each = (time.process_time() - before) / len(queries)
    times = {"open_s": opened, "seconds": seconds, "query_cpu_s": each}
    return {**times, "found": positions, "idle_gb": idle, "search_peak_gb": _peak_gb()}


def measured(flags: Flags, folder: Path) -> dict[str, dict[str, Any]]:
    """What each way takes and finds, by name: ours and Lance's by kind, each kind in turn.

    What was measured in `folder` before is not measured again.
    """
    ways: dict[str, dict[str, Any]] = {}
    for kind in flags.kinds:
        for side, python, module in (("ours", sys.executable, OURS), ("Lance", flags.lance_python, LANCE)):
            ways[f"{side}, {kind}"] = {}
            for action in ("write", "search"):
                kept = folder / f"{side}-{kind}-{action}.json"
                if not kept.exists():
                    words = ["--action", action, "--kind", kind, "--folder", str(folder)]
                    kept.write_text(_run([python, "-m", module, *words, "--threads", str(flags.threads)]))
                ways[f"{side}, {kind}"] |= json.loads(kept.read_text())
    exact = ways["ours, exact"]["found"]
    return {name: _summary(way, exact) for name, way in ways.items()}


def _run(command: list[str]) -> str:
    return subprocess.run(command, check=True, capture_output=True, text=True, cwd=ROOT).stdout.splitlines()[-1]


def _summary(way: dict[str, Any], exact: list[list[int]]) -> dict[str, Any]:
    shares = [len(set(hits) & set(best)) / K for hits, best in zip(way["found"], exact, strict=True)]
    later = way["seconds"][1:]
    kept = {name: value for name, value in way.items() if name not in ("seconds", "found")}
    times = {"first_s": way["seconds"][0], "p50_s": np.quantile(later, 0.5), "p99_s": np.quantile(later, 0.99)}
    return {**kept, **{name: float(value) for name, value in times.items()}, "recall": float(np.mean(shares))}


def _generate(flags: Flags, folder: Path) -> None:
    made = candidates.generated(candidates.Flags(clips=flags.clips, dim=flags.dim, queries=flags.queries))
    for file, vectors in zip(("clips.npy", "queries.npy"), made, strict=True):
        np.save(folder / file, vectors)


def measure(flags: Flags) -> dict[str, Any]:
    """All kinds of both; one action of ours where the command itself asks for it."""
    torch.set_num_threads(flags.threads)
    if flags.action != "measure":
        act = write if flags.action == "write" else search
        print(json.dumps(act(flags.kind, Path(flags.folder))))
        raise SystemExit(0)
    with tempfile.TemporaryDirectory() as new:
        folder = Path(flags.folder or new)
        if not (folder / "queries.npy").exists():
            _generate(flags, folder)
        ways = measured(flags, folder)
    pins = (ROOT / "benchmarks/peers/lance.txt").read_text().splitlines()
    lance = dict(pin.split("==") for pin in pins if pin.startswith("pylance=="))
    asked = {name: value for name, value in asdict(flags).items() if name in ("clips", "dim", "queries")}
    return {**asked, "ways": ways, "versions": versions("torch", "numpy", "faiss-cpu") | lance}


def markdown(values: dict[str, Any]) -> str:
    """The page."""
    busy = "Other work ran on the machine: compare processor times, not clocks.\n" if values["load"] > 2 else ""
    rows = [f"| {name} | {_cells(way)} |" for name, way in values["ways"].items()]
    heads = "| | building | its processor time | its memory | files | opening | first search | p50 | p99 "
    heads += f"| processor time each | recall@{K} | memory of searching |"
    return f"""# An index's own files beside Lance, {values["clips"]:,} clips

Generated unit vectors of {values["dim"]} dimensions, those of `benchmarks.at_scale.candidates`, with ids and
captions; {values["queries"]} queries near clips, one at a time, by cosine, the ten best with their items. Lists, bytes
per vector, links of the graph and the candidates compared again by the vectors (ivf-pq 800, hnsw 200) are alike.
Writing and searching are each a process of its own, with the files in the page cache; memory is its peak, mapped pages
of the files included.

{heads}
|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|
{chr(10).join(rows)}

{busy}One run, load {values["load"]:.1f} at the end. {origin(values)}
"""


def _cells(way: dict[str, Any]) -> str:
    times = (way[name] * 1000 for name in ("first_s", "p50_s", "p99_s", "query_cpu_s"))
    cells = [
        f"{way['build_s']:.0f} s",
        f"{way['build_cpu_s']:.0f} s",
        f"{way['build_peak_gb']:.1f} GB",
        f"{way['bytes'] / 2**30:.2f} GB",
        f"{way['open_s'] * 1000:.0f} ms",
        *(f"{value:.1f} ms" for value in times),
        f"{way['recall']:.3f}",
        f"{way['search_peak_gb']:.2f} GB",
    ]
    return " | ".join(cells)


BENCHMARK = Benchmark("benchmarks.at_scale.lance", Flags, measure, markdown)

if __name__ == "__main__":
    BENCHMARK.main(sys.argv[1:])
