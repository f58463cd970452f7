"""Generalised Jaccard of every caption with every video, top-10 retrieval and C@k, beside the straightforward form.

The straightforward form is broadcast and batched: torch.min and torch.max of (captions of a batch, videos, concepts).
At MSR-VTT's size (59,800 captions, 2,990 videos, 512 concepts) it is timed on some of the captions, in turns with ours
on the same ones; the whole is timed once, with its peak memory:

    python -m benchmarks.similarity [--threads 2] [--rounds 5]
"""

import resource
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from statistics import median
from typing import Any

import torch
from torch import Tensor

from benchmarks.report.pages import RESULTS, Benchmark, numbered
from vtr_core.analysis.causality import causality_at_k
from vtr_core.similarity import generalized_jaccard, most_similar_by_jaccard


@dataclass(frozen=True)
class Flags:
    """Sizes, and how often; the defaults are those of the official test split."""

    captions: int = 59_800
    videos: int = 2_990
    concepts: int = 512
    slice: int = 512
    """Captions of which the forms are compared in turns."""
    batch: int = 32
    """Captions of a batch of the straightforward form: 196 MB for each of its tensors."""
    rounds: int = 5
    """Turns; medians of the ratios within a turn are reported."""
    threads: int | None = None
    """Of torch (default: as it comes)."""
    out: str = str(RESULTS)
    """Folder for similarity.json and similarity.md."""


def measure(flags: Flags) -> dict[str, Any]:
    """What `compare` finds, with so many threads of torch."""
    if flags.threads is not None:
        torch.set_num_threads(flags.threads)
    return compare(flags)


@torch.inference_mode()
def compare(flags: Flags) -> dict[str, Any]:
    """All figures; peak memory is what the process grew by once the loop was compiled, results included."""
    few = _probabilities(64, flags.concepts, 2)
    compile_seconds = _timed(lambda: generalized_jaccard(few, few))[1]
    before = _peak_bytes()
    text, video = _probabilities(flags.captions, flags.concepts, 0), _probabilities(flags.videos, flags.concepts, 1)
    some = text[: flags.slice]
    top, top_seconds = _timed(lambda: most_similar_by_jaccard(text, video, 10))
    top_bytes = _peak_bytes() - before
    causality = causality_seconds(text, video)
    whole, whole_seconds = _timed(lambda: generalized_jaccard(text, video))
    agree = bool(torch.equal(whole.gather(1, top[1]), top[0]))
    whole_bytes = _peak_bytes() - before
    del whole
    forms: dict[str, Callable[[], object]] = {
        "broadcast": lambda: broadcast(some, video, flags.batch),
        "distance": lambda: torch.cdist(some, video, p=1.0),
        "compiled": lambda: generalized_jaccard(some, video),
        "compiled, top 10": lambda: most_similar_by_jaccard(some, video, 10),
    }
    seconds = _in_turns(forms, flags.rounds)
    pairs = len(some) * len(video) * flags.concepts
    return {
        "captions": flags.captions,
        "videos": flags.videos,
        "concepts": flags.concepts,
        "slice": flags.slice,
        "batch": flags.batch,
        "rounds": flags.rounds,
        "seconds": {name: median(values) for name, values in seconds.items()},
        "elements_per_second": {name: pairs / median(values) for name, values in seconds.items()},
        "faster_than_broadcast": {
            name: median(a / b for a, b in zip(seconds["broadcast"], values, strict=True))
            for name, values in seconds.items()
        },
        "largest_difference": largest_difference(some[:64], video),
        "compile_seconds": compile_seconds,
        "whole_seconds": whole_seconds,
        "whole_peak_mb": whole_bytes / 1e6,
        "top10_seconds": top_seconds,
        "top10_peak_mb": top_bytes / 1e6,
        "top10_is_that_of_the_matrix": agree,
        "causality_seconds": causality,
        **limits(flags.rounds),
        "threads": torch.get_num_threads(),
    }


def broadcast(text: Tensor, video: Tensor, batch: int) -> Tensor:
    """Σ min / Σ max as the published code writes it, a batch of captions at a time."""
    parts = []
    for some in text.split(batch):
        a, b = some.unsqueeze(1), video.unsqueeze(0)
        parts.append(torch.min(a, b).sum(-1) / torch.max(a, b).sum(-1))
    return torch.cat(parts)


def causality_seconds(text: Tensor, video: Tensor) -> dict[int, float]:
    """What C@10 and C@30 take over as many matched pairs as there are captions."""
    matched = video[torch.arange(len(text)) % len(video)]
    return {k: _timed(partial(causality_at_k, matched, text, k, "jaccard"))[1] for k in (10, 30)}


def largest_difference(text: Tensor, video: Tensor) -> float:
    """Between ours in float32 and the straightforward form in float64."""
    return float((generalized_jaccard(text, video) - broadcast(text.double(), video.double(), 16)).abs().max())


def limits(rounds: int) -> dict[str, float]:
    """What the machine allows: bytes per second copied in memory, and minima per second of what lies in the cache."""
    large, other = torch.rand(1 << 26), torch.empty(1 << 26)
    small, line, result = torch.rand(32, 8, 1), torch.rand(32, 1, 512), torch.empty(32, 8, 512)
    copied = min(_timed(lambda: other.copy_(large))[1] for _ in range(rounds))
    repeats = 200
    fastest = min(
        _timed(lambda: [torch.minimum(small, line, out=result) for _ in range(repeats)])[1] for _ in range(rounds)
    )
    return {
        "copy_gb_per_second": 2 * large.numel() * large.element_size() / copied / 1e9,
        "minima_per_second": repeats * result.numel() / fastest,
    }


def _in_turns(forms: dict[str, Callable[[], object]], rounds: int) -> dict[str, list[float]]:
    """Seconds of every form in every round; the round before the first is not counted."""
    seconds: dict[str, list[float]] = {name: [] for name in forms}
    for number in range(rounds + 1):
        for name, form in forms.items():
            elapsed = _timed(form)[1]
            if number:
                seconds[name].append(elapsed)
    return seconds


def _timed(call: Callable[[], Any]) -> tuple[Any, float]:
    start = time.perf_counter()
    result = call()
    return result, time.perf_counter() - start


def _probabilities(rows: int, concepts: int, seed: int) -> Tensor:
    """Like those of a trained model: 0.4 on average, spread over (0, 1)."""
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(rows, concepts, generator=generator).mul_(1.5).sub_(0.5).sigmoid_()


def _peak_bytes() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


FASTER, MEGABYTES = 20.0, 1000.0
"""Goals: of the straightforward form's speed, and of peak memory."""
SIZE = {"captions": 59_800, "videos": 2_990, "concepts": 512}
"""The official test split of MSR-VTT, which the goals are for; they are not judged by less."""
BYTES_PER_ELEMENT = 16
"""That the straightforward form moves at least: minima and maxima of float32, each written and read again."""


def markdown(figures: Mapping[str, Any]) -> str:
    """The page."""
    return "\n".join([*_forms(figures), *_whole(figures), *_limits(figures)])


def _forms(figures: Mapping[str, Any]) -> list[str]:
    rows = [
        f"| {name} | {figures['seconds'][name]:.3f} | {figures['elements_per_second'][name] / 1e9:.2f} "
        f"| {figures['faster_than_broadcast'][name]:.1f} |"
        for name in figures["seconds"]
    ]
    faster = figures["faster_than_broadcast"]["compiled"]
    return [
        "# Generalised Jaccard of all pairs",
        "",
        f"{figures['slice']} of {figures['captions']:,} captions × {figures['videos']:,} videos × "
        f"{figures['concepts']} concepts, in turns, medians of {figures['rounds']} rounds. broadcast: the",
        f"straightforward form, {figures['batch']} captions at a time. distance: torch.cdist, as in training.",
        f"compiled: ours; the first call of a process takes {figures['compile_seconds']:.1f} s to compile it.",
        "",
        "| form | s | 10⁹ minima/s | × broadcast |",
        "|---|---:|---:|---:|",
        *rows,
        "",
        f"Goal: at least {FASTER:g} × broadcast: {_judged(figures, faster >= FASTER)}. "
        f"Largest difference from float64: {figures['largest_difference']:.1e}.",
        "",
    ]


def _judged(figures: Mapping[str, Any], met: bool) -> str:
    if any(figures[name] < least for name, least in SIZE.items()):
        return "not judged, as it is for " + " × ".join(f"{least:,} {name}" for name, least in SIZE.items())
    return "reached" if met else "**not reached**"


def _whole(figures: Mapping[str, Any]) -> list[str]:
    small = max(figures["whole_peak_mb"], figures["top10_peak_mb"]) < MEGABYTES
    causality = ", ".join(f"C@{k} {seconds:.1f} s" for k, seconds in figures["causality_seconds"].items())
    return [
        "| all captions | s | peak memory, MB |",
        "|---|---:|---:|",
        f"| matrix | {figures['whole_seconds']:.1f} | {figures['whole_peak_mb']:.0f} |",
        f"| top 10 of each caption | {figures['top10_seconds']:.1f} | {figures['top10_peak_mb']:.0f} |",
        "",
        f"Memory is what the process grew by after compiling, inputs and result included; goal below {MEGABYTES:g} MB: "
        f"{_judged(figures, small)}. The top 10 "
        f"{'are' if figures['top10_is_that_of_the_matrix'] else '**are not**'} those of the matrix.",
        f"Over as many matched pairs: {causality}.",
        "",
    ]


def _limits(figures: Mapping[str, Any]) -> list[str]:
    bandwidth = figures["copy_gb_per_second"] / BYTES_PER_ELEMENT
    share = figures["elements_per_second"]["compiled"] / figures["minima_per_second"]
    return [
        f"Memory copies {figures['copy_gb_per_second']:.1f} GB/s (reading and writing), so a form that writes all",
        f"minima and maxima cannot pass {bandwidth:.2f} · 10⁹ minima/s. One torch.minimum in the cache does",
        f"{figures['minima_per_second'] / 1e9:.2f} · 10⁹/s; compiled, which also adds them up,",
        f"reaches {100 * share:.0f} % of it.",
        "",
        f"On {figures['device']}, {figures['threads']} threads; {numbered(figures['versions'])}; "
        f"`{figures['command']}`.",
        "",
    ]


BENCHMARK = Benchmark(
    "benchmarks.similarity",
    Flags,
    measure,
    markdown,
    (
        "torch",
        "numba",
    ),
)

if __name__ == "__main__":
    BENCHMARK.main(sys.argv[1:])
