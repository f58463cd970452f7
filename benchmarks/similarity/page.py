"""The similarity benchmark's figures as a page."""

from collections.abc import Mapping
from typing import Any

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
    versions = ", ".join(f"{name} {number}" for name, number in figures["versions"].items())
    return [
        f"Memory copies {figures['copy_gb_per_second']:.1f} GB/s (reading and writing), so a form that writes all",
        f"minima and maxima cannot pass {bandwidth:.2f} · 10⁹ minima/s. One torch.minimum in the cache does",
        f"{figures['minima_per_second'] / 1e9:.2f} · 10⁹/s; compiled, which also adds them up,",
        f"reaches {100 * share:.0f} % of it.",
        "",
        f"On {figures['device']}, {figures['threads']} threads; {versions}; `{figures['command']}`.",
        "",
    ]
