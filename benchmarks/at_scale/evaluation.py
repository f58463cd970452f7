"""What an exact evaluation takes beyond its matrix products, and its memory.

    python -m benchmarks.at_scale.evaluation [--clips 48100] [--dim 512]

Generated embeddings: random unit vectors, a caption near its clip. One direction, every caption against every clip:
R@k, ranks, mAP and ties, against the bare products of the same blocks in the same run.
"""

import resource
import sys
import time
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from benchmarks.report.pages import RESULTS, Benchmark, origin
from vtr_core.embedding.embedded_rows import EmbeddedRows
from vtr_core.embedding.rankings import Ranking, figures, rankings
from vtr_core.metrics.ranking import ITEM_CHUNK, QUERY_CHUNK


@dataclass(frozen=True)
class Flags:
    """What is measured."""

    clips: int = 48_100
    dim: int = 512
    threads: int = 2
    out: str = str(RESULTS)


def generated(clips: int, dim: int, seed: int = 0) -> EmbeddedRows:
    """Unit vectors of clips, and of captions near them."""
    generator = np.random.default_rng(seed)
    video = _unit(generator.standard_normal((clips, dim), np.float32))
    text = _unit(video + 4 / np.sqrt(dim) * generator.standard_normal((clips, dim), np.float32))
    keys = np.arange(clips, dtype=np.int64)
    present = np.ones(clips, bool)
    return EmbeddedRows({"text": text, "video": video}, {"text": present, "video": present}, keys, keys)


def _unit(vectors: np.ndarray) -> np.ndarray:
    return np.asarray(vectors / np.linalg.norm(vectors, axis=1, keepdims=True), np.float32)


def products(ranking: Ranking) -> float:
    """Seconds of the matrix products of all blocks."""
    queries, items = ranking.queries.parts[0], ranking.items.parts[0]
    began = time.perf_counter()
    for first in range(0, len(queries), QUERY_CHUNK):
        for start in range(0, len(items), ITEM_CHUNK):
            torch.mm(queries[first : first + QUERY_CHUNK], items[start : start + ITEM_CHUNK].T)
    return time.perf_counter() - began


def measure(flags: Flags) -> dict[str, Any]:
    """Seconds of the evaluation and of its products, before and after it, and memory."""
    torch.set_num_threads(flags.threads)
    ranking = rankings(generated(flags.clips, flags.dim))[0]
    before = products(ranking)
    rest = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    began = time.perf_counter()
    metrics = figures(ranking, ranking.scores("dot")).metrics
    ours = time.perf_counter() - began
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    after = products(ranking)
    return {
        "clips": flags.clips,
        "dim": flags.dim,
        "products_s": [before, after],
        "evaluation_s": ours,
        "ratio": ours / ((before + after) / 2),
        "peak_gb_before": rest / 2**20,
        "peak_gb": peak / 2**20,
        "recall": metrics.recall,
        "median_rank": metrics.median_rank,
    }


def markdown(values: dict[str, Any]) -> str:
    """The page."""
    before, after = values["products_s"]
    return f"""# An exact evaluation, to its matrix products

One direction of {values["clips"]:,} captions against {values["clips"]:,} clips of {values["dim"]} dimensions (generated
unit vectors, no data set): recall, ranks, mAP and ties.

| | |
|---|---:|
| matrix products alone, before and after | {before:.1f} s, {after:.1f} s |
| evaluation | {values["evaluation_s"]:.1f} s |
| to the products' mean | {values["ratio"]:.2f} |
| peak memory of the process before, with the embeddings | {values["peak_gb_before"]:.2f} GB |
| peak memory with the evaluation | {values["peak_gb"]:.2f} GB |

Load {values["load"]:.1f}. {origin(values)}
"""


BENCHMARK = Benchmark(
    "benchmarks.at_scale.evaluation",
    Flags,
    measure,
    markdown,
    (
        "torch",
        "numpy",
    ),
)

if __name__ == "__main__":
    BENCHMARK.main(sys.argv[1:])
