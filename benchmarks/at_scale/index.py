"""An index of generated clips: writing, opening, searching, adding and deleting, with memory.

    python -m benchmarks.at_scale.index [--clips 1000000] [--dim 512] [--queries 50]

Exact search in one joint space: the scores of all clips, and the ten best.
"""

import json
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pyarrow as pa
import torch

from benchmarks.report.pages import RESULTS, Benchmark, origin
from vtr_core.embedding.video_ranking import JointItems, best, nearest
from vtr_core.retrieval.index.index import Shard, VideoIndex, load_index, save_index
from vtr_core.retrieval.index.items import Items
from vtr_core.retrieval.index.record import Backend, IndexRecord
from vtr_core.similarity import cosine
from vtr_core.storage import locate


@dataclass(frozen=True)
class Flags:
    """What is measured."""

    clips: int = 1_000_000
    dim: int = 512
    queries: int = 50
    similarity: Literal["dot", "cosine"] = "cosine"
    threads: int = 2
    out: str = str(RESULTS)
    search_in: str = ""
    """Used by the command itself: search the index here, in a process of its own."""


def generated(clips: int, dim: int) -> VideoIndex:
    """An index of random unit vectors."""
    generator = np.random.default_rng(0)
    vectors = np.empty((clips, dim), np.float32)
    for first in range(0, clips, 65_536):
        part = generator.standard_normal((min(65_536, clips - first), dim), np.float32)
        vectors[first : first + len(part)] = part / np.linalg.norm(part, axis=1, keepdims=True)
    shard = Shard.of({"video": vectors, "has_video": np.ones(clips, bool)}, made_items(clips))
    return VideoIndex.of(made_record(clips, dim, "exact"), shard)


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


def peak_kb() -> int:
    """Peak memory of this process in KiB; that of getrusage would count its parent's too."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM"))


def searched(place: str, flags: Flags) -> dict[str, Any]:
    """Times and memory of opening and searching."""
    idle = peak_kb()
    began = time.perf_counter()
    index = load_index(locate(place))
    opened = time.perf_counter() - began
    after_opening = peak_kb()
    asked = np.random.default_rng(1).integers(len(index.items), size=flags.queries)
    (shard,) = index.shards
    vectors = shard.tensors["video"]
    clips = JointItems({"video": vectors}, {"video": shard.tensors["has_video"]})
    seconds, normalising, right = [], [], 0
    for position in asked:
        if flags.similarity == "cosine":
            began = time.perf_counter()
            best(cosine(torch.from_numpy(vectors[position][None]), torch.from_numpy(vectors)).numpy()[0], 10)
            normalising.append(time.perf_counter() - began)
        began = time.perf_counter()
        (near,) = nearest(clips, vectors[position][None], flags.similarity, 10)
        hits = [index.items[place] for place in near.positions]
        seconds.append(time.perf_counter() - began)
        right += hits[0].item_id == f"clip{position:09d}"
    began = time.perf_counter()
    nearest(clips, vectors[asked], flags.similarity, 10)
    together = time.perf_counter() - began
    return {
        "together_s": together / flags.queries,
        "open_s": opened,
        "p50_s": float(np.quantile(seconds[1:], 0.5)),
        "p99_s": float(np.quantile(seconds[1:], 0.99)),
        "first_s": seconds[0],
        "normalising_p50_s": float(np.quantile(normalising, 0.5)) if normalising else None,
        "found_itself": right / flags.queries,
        "idle_gb": idle / 2**20,
        "opened_gb": after_opening / 2**20,
        "searched_gb": peak_kb() / 2**20,
    }


def measure(flags: Flags) -> dict[str, Any]:
    """Writing here; opening and searching in a process of its own, which is this command with --search-in."""
    torch.set_num_threads(flags.threads)
    if flags.search_in:
        print(json.dumps(searched(flags.search_in, flags)))
        raise SystemExit(0)
    with tempfile.TemporaryDirectory() as folder:
        made = generated(flags.clips, flags.dim)
        began = time.perf_counter()
        record = save_index(locate(folder), made)
        written = time.perf_counter() - began
        del made
        asked = {"queries": flags.queries, "similarity": flags.similarity, "threads": flags.threads}
        words = [word for name, value in asked.items() for word in (f"--{name}", str(value))]
        command = [sys.executable, "-m", "benchmarks.at_scale.index", *words, "--search-in", folder]
        output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return {
        "clips": flags.clips,
        "dim": flags.dim,
        "queries": flags.queries,
        "similarity": flags.similarity,
        "write_s": written,
        "gb": sum(stored.bytes for stored in record.files) / 2**30,
        **json.loads(output),
    }


def markdown(values: dict[str, Any]) -> str:
    """The page."""
    slow = values["normalising_p50_s"]
    before = (
        "" if slow is None else f"| the same with all vectors normalised for each query, p50 | {slow * 1000:.0f} ms |\n"
    )
    copied = "" if slow is None else "It also counts the copies of all vectors of the slower way."
    return f"""# An index of {values["clips"]:,} clips

Generated unit vectors of {values["dim"]} dimensions, no data set; exact search of all clips by
{values["similarity"]} for one query at a time,
the ten best with their items. Opening and searching in a process of its own, with the files in the page cache.

| | |
|---|---:|
| files | {values["gb"]:.2f} GB |
| writing, hashes included | {values["write_s"]:.1f} s |
| opening | {values["open_s"]:.2f} s |
| a search, first | {values["first_s"] * 1000:.0f} ms |
| a search, p50 | {values["p50_s"] * 1000:.0f} ms |
| a search, p99 | {values["p99_s"] * 1000:.0f} ms |
{before}| a search of {values["queries"]} at once, each | {values["together_s"] * 1000:.0f} ms |
| queries, each a clip's own vector, that found it first | {values["found_itself"]:.0%} |
| peak memory before opening, after, and after the searches | {values["idle_gb"]:.2f}, {values["opened_gb"]:.2f}, {
        values["searched_gb"]:.2f} GB |

The last figure counts mapped pages of the files, which the system may drop at any time.
{copied}

Load {values["load"]:.1f}. {origin(values)}
"""


BENCHMARK = Benchmark(
    "benchmarks.at_scale.index",
    Flags,
    measure,
    markdown,
    (
        "torch",
        "numpy",
        "pyarrow",
    ),
)

if __name__ == "__main__":
    BENCHMARK.main(sys.argv[1:])
