"""What faiss's candidates take and find beside exact search of the same clips, in one run.

    python -m benchmarks.at_scale.candidates [--clips 200000] [--dim 512] [--intrinsic 32]

Generated unit vectors: a linear image of `--intrinsic` normal variables with a little noise, as embeddings vary in far
fewer directions than they have dimensions (with as many directions as dimensions no graph finds neighbours well).
"""

import sys
import time
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import torch
from jaxtyping import Float32

from benchmarks.report.pages import RESULTS, Benchmark, origin
from vtr_core.embedding.video_ranking import JointItems, best
from vtr_core.errors import ConfigError
from vtr_core.retrieval.index.candidates import FEWEST, Candidates, build_candidates, normalized

K = 10
ASKED = ("clips", "dim", "intrinsic", "noise", "queries")
TIMES = ("p50_s", "p99_s", "p50_cpu_s", "p99_cpu_s")


@dataclass(frozen=True)
class Flags:
    """What is measured."""

    clips: int = 200_000

    dim: int = 512
    intrinsic: int = 32
    noise: float = 0.1
    """Standard deviation of the noise to that of the rest, of clips and again of queries."""
    queries: int = 50
    candidates: tuple[int, ...] = (50, 200, 800)
    """Numbers of candidates; the default of `vtr search` is 800."""
    threads: int = 2
    out: str = str(RESULTS)


def generated(flags: Flags) -> tuple[Float32[np.ndarray, "clips dim"], Float32[np.ndarray, "queries dim"]]:
    """Clips, and queries near some of them."""
    generator = np.random.default_rng(0)
    image = generator.standard_normal((flags.intrinsic, flags.dim), np.float32) / np.sqrt(flags.intrinsic)
    clips = generator.standard_normal((flags.clips, flags.intrinsic), np.float32) @ image
    clips += flags.noise * generator.standard_normal(clips.shape, np.float32)
    near = clips[generator.choice(flags.clips, flags.queries, replace=False)]
    queries = near + flags.noise * generator.standard_normal(near.shape, np.float32)
    return normalized(clips), normalized(queries)


def measured(flags: Flags) -> dict[str, Any]:
    """Seconds of each way, query by query in turn, and the shares of the ten best that the candidates hold."""
    clips, queries = generated(flags)
    items = JointItems({"video": clips}, {"video": np.ones(flags.clips, bool)})
    began = _now()
    content = build_candidates(clips)
    built = _now() - began
    if content is None:
        raise ConfigError(f"there are no candidates of {flags.clips} clips; give --clips {FEWEST}")
    candidates = Candidates(content, flags.clips, flags.dim)
    taken: dict[str, list[np.ndarray]] = {"exact": [], **{str(count): [] for count in flags.candidates}}
    shares: dict[str, list[float]] = {str(count): [] for count in flags.candidates}
    for query in queries:
        began = _now()
        exact = best(items.scores(query[None], "cosine")[0], K)
        taken["exact"].append(_now() - began)
        for count in flags.candidates:
            began = _now()
            (chosen,) = candidates.find(query[None], count)
            nearest = chosen[best(items.scores(query[None], "cosine", chosen)[0], K)]
            taken[str(count)].append(_now() - began)
            shares[str(count)].append(len(np.intersect1d(nearest, exact)) / K)
    return {
        "build_s": float(built[0]),
        "build_cpu_s": float(built[1]),
        "candidates_gb": sum(array.nbytes for array in content.values()) / 2**30,
        "vectors_gb": clips.nbytes / 2**30,
        **{f"p{share}_s": _quantiles(taken, share / 100, 0) for share in (50, 99)},
        **{f"p{share}_cpu_s": _quantiles(taken, share / 100, 1) for share in (50, 99)},
        "recall": {name: float(np.mean(values)) for name, values in shares.items()},
    }


def _now() -> np.ndarray:
    """Seconds of the clock, and of the processor, all threads together."""
    return np.array([time.perf_counter(), time.process_time()])


def _quantiles(taken: dict[str, list[np.ndarray]], share: float, kind: int) -> dict[str, float]:
    return {name: float(np.quantile([row[kind] for row in rows], share)) for name, rows in taken.items()}


def measure(flags: Flags) -> dict[str, Any]:
    """What was asked for, and what was measured."""
    torch.set_num_threads(flags.threads)
    sizes = {name: value for name, value in asdict(flags).items() if name in ASKED}
    return {**sizes, **measured(flags)}


def markdown(values: dict[str, Any]) -> str:
    """The page."""
    rows = [
        f"| {name} | {' | '.join(f'{values[kind][name] * 1000:.1f} ms' for kind in TIMES)} | "
        f"{values['recall'].get(name, 1.0):.3f} |"
        for name in values["p50_s"]
    ]
    return f"""# Candidates by faiss's ivf-pq, beside exact search of {values["clips"]:,} clips

Generated unit vectors of {values["dim"]} dimensions, an image of {values["intrinsic"]} variables with noise of
{values["noise"]:g}; {
        values["queries"]
    } queries near clips, one at a time, by cosine; both ways in turn for every query.
They were built in {values["build_s"]:.0f} s ({values["build_cpu_s"]:.0f} s of processor time) and take {
        values["candidates_gb"]:.2f} GB, beside {values["vectors_gb"]:.2f} GB of vectors.

| candidates | p50 | p99 | p50, processor | p99, processor | recall@{K} |
|---|---:|---:|---:|---:|---:|
{chr(10).join(rows)}

Load {values["load"]:.1f}. {origin(values)}
"""


BENCHMARK = Benchmark(
    "benchmarks.at_scale.candidates",
    Flags,
    measure,
    markdown,
    ("torch", "numpy", "faiss-cpu"),
    name="at_scale_candidates_ivf-pq",
)

if __name__ == "__main__":
    BENCHMARK.main(sys.argv[1:])
