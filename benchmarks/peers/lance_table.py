"""Vectors in a Lance table, written and searched: one action a process, whose result is printed as JSON.

    python -m benchmarks.peers.lance_table --action write|search --kind exact|ivf-pq|hnsw --folder FOLDER --threads 2

It runs in an environment with `lance.txt` of this folder, and imports nothing of this project. FOLDER has
`clips.npy`, and for searching `queries.npy`, as benchmarks/at_scale/lance.py makes them.
"""

import argparse
import json
import math
import os
import time
from pathlib import Path
from typing import Any

import numpy as np

K, SEARCHES_OF_PARTS, PER_BYTE = 10, 2, 8
"""Hits; one part of so many is searched, eight at least; dimensions per byte of a quantised vector: as vtr's ivf-pq."""
REFINE, REFINE_CODES = 20, 80
"""K times as many candidates are compared again by the vectors, of hnsw and of ivf-pq: as `vtr search` does."""


def write(kind: str, folder: Path) -> dict[str, Any]:
    """Write the table with ids and captions, then its index; the seconds of both together, and the bytes."""
    import lance
    import pyarrow as pa

    clips = np.load(folder / "clips.npy", mmap_mode="r")
    rows, dim = clips.shape
    began = time.perf_counter()
    names = pa.array([f"clip{number:09d}" for number in range(rows)])
    vectors = pa.FixedSizeListArray.from_arrays(pa.array(np.asarray(clips).reshape(-1)), dim)
    place = folder / f"lance-{kind}"
    table = lance.write_dataset(pa.table({"item_id": names, "caption": names, "vector": vectors}), place)
    parts = 2 ** round(math.log2(2 * math.sqrt(rows)))
    if kind == "ivf-pq":
        table.create_index("vector", "IVF_PQ", metric="cosine", num_partitions=parts, num_sub_vectors=dim // PER_BYTE)
    if kind == "hnsw":
        table.create_index("vector", "IVF_HNSW_SQ", metric="cosine", num_partitions=1, m=32, ef_construction=80)
    seconds = time.perf_counter() - began
    size = sum(file.stat().st_size for file in place.rglob("*") if file.is_file())
    return {"build_s": seconds, "build_cpu_s": time.process_time(), "bytes": size, "build_peak_gb": peak_gb()}


def search(kind: str, folder: Path) -> dict[str, Any]:
    """The seconds of opening and of each query, and the positions of the hits."""
    import lance

    queries = np.load(folder / "queries.npy")
    idle = peak_gb()
    began = time.perf_counter()
    table = lance.dataset(folder / f"lance-{kind}")
    opened = time.perf_counter() - began
    settings = _settings(kind, table.count_rows())
    seconds, positions, before = [], [], time.process_time()
    for query in queries:
        began = time.perf_counter()
        hits = table.to_table(
            columns=["item_id", "caption", "_distance"], nearest={"column": "vector", "q": query, "k": K, **settings}
        )
        seconds.append(time.perf_counter() - began)
        positions.append([int(name.removeprefix("clip")) for name in hits["item_id"].to_pylist()])
    each = (time.process_time() - before) / len(queries)
    times = {"open_s": opened, "seconds": seconds, "query_cpu_s": each}
    return {**times, "found": positions, "idle_gb": idle, "search_peak_gb": peak_gb()}


def _settings(kind: str, rows: int) -> dict[str, Any]:
    parts = 2 ** round(math.log2(2 * math.sqrt(rows)))
    match kind:
        case "ivf-pq":
            return {"nprobes": max(8, parts // SEARCHES_OF_PARTS), "refine_factor": REFINE_CODES}
        case "hnsw":
            return {"nprobes": 1, "ef": 2 * K * REFINE, "refine_factor": REFINE}
        case _:
            return {"metric": "cosine", "use_index": False}


def peak_gb() -> float:
    """Peak memory of this process."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) / 2**20


def main() -> None:
    """Do one action."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--action", choices=("write", "search"))
    parser.add_argument("--kind", choices=("exact", "ivf-pq", "hnsw"))
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--threads", default="2")
    asked = parser.parse_args()
    os.environ["LANCE_CPU_THREADS"] = os.environ["RAYON_NUM_THREADS"] = asked.threads
    print(json.dumps((write if asked.action == "write" else search)(asked.kind, asked.folder)))


if __name__ == "__main__":
    main()
