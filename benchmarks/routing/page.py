"""The routing benchmark's figures as a page."""

from collections.abc import Mapping
from typing import Any

PAPER = {
    "none": (0.687, 9.12),
    "dynamic": (1.534, 20.50),
    "em": (1.272, 19.13),
    "set_transformer": (0.707, 9.11),
    "self_attention": (0.722, 9.11),
}
"""Table 3: seconds per batch and GB on the authors' GPUs."""
PAPER_CAPSULES = {"32": (0.730, 9.15), "64": (0.768, 11.24), "128": (0.879, 15.97), "256": (1.096, 27.98)}
"""Table 4."""
GOALS = (
    ("self_attention / none", "time", "at most", 1.05),
    ("self_attention / none", "memory", "at most", 1.0),
    ("dynamic / self_attention", "time", "at least", 2.1),
    ("dynamic / self_attention", "memory", "at least", 2.2),
)
"""(ratio, of what, bound, value): what the published figures say, rounded."""

LEAST_ROWS = 512
"""Clips of a batch from which the ratios are judged: with few, a step costs the optimizer's pass over the weights."""


def reached(ratios: Mapping[str, Mapping[str, float]]) -> list[bool]:
    """Whether each of `GOALS` is reached."""
    found = [(ratios[pair][what], bound, value) for pair, what, bound, value in GOALS]
    return [ratio <= value if bound == "at most" else ratio >= value for ratio, bound, value in found]


def markdown(figures: Mapping[str, Any]) -> str:
    """The page."""
    return "\n".join([*_routings(figures), *_goals(figures), *_capsules(figures), *_footer(figures)])


def _routings(figures: Mapping[str, Any]) -> list[str]:
    rows = [
        f"| {name} | {found['seconds']:.3f} | {found['peak_gb']:.3f} | {1000 * figures['alone_seconds'][name]:.1f} "
        f"| {figures['alone_to_self_attention'][name]:.2f} | {PAPER[name][0]:.3f} | {PAPER[name][1]:.2f} |"
        for name, found in figures["routings"].items()
    ]
    return [
        "# Capsule routings: cost of a training step",
        "",
        f"C = 64, d1 = d2 = 16, {figures['rows']} clips, {figures['precision']}; medians of {figures['repeats']}",
        "rounds.",
        "",
        "| routing | step, s | peak memory, GB | routing alone, ms | to self-attention | paper, s | paper, GB |",
        "|---|---:|---:|---:|---:|---:|---:|",
        *rows,
        "",
    ]


def _goals(figures: Mapping[str, Any]) -> list[str]:
    judged = figures["rows"] >= LEAST_ROWS
    rows = [
        f"| {pair} | {what} | {bound} {value:g} | {figures['ratios'][pair][what]:.3f} "
        f"| {('yes' if met else '**no**') if judged else 'not judged'} |"
        for (pair, what, bound, value), met in zip(GOALS, reached(figures["ratios"]), strict=True)
    ]
    return ["| ratio | of | goal | measured | reached |", "|---|---|---|---:|---|", *rows, ""]


def _capsules(figures: Mapping[str, Any]) -> list[str]:
    rows = [
        f"| {count} | {found['seconds']:.3f} | {found['peak_gb']:.3f} | {PAPER_CAPSULES[count][0]:.3f} "
        f"| {PAPER_CAPSULES[count][1]:.2f} |"
        for count, found in figures["capsules"].items()
    ]
    fits = [
        f"{what}: {fit['intercept']:.3f} + {fit['per_capsule']:.5f}·C {unit}, R² = {fit['r_squared']:.4f}, largest"
        f" residual {100 * fit['largest_residual']:.1f} %."
        for what, unit, fit in (
            ("Time", "s", figures["linear"]["seconds"]),
            ("Memory", "GB", figures["linear"]["peak_gb"]),
        )
    ]
    return [
        f"Self-attention with d1 = 32, d2 = 256, {figures['capsule_rows']} clips:",
        "",
        "| C | step, s | peak memory, GB | paper, s | paper, GB |",
        "|---:|---:|---:|---:|---:|",
        *rows,
        "",
        *fits,
        "",
    ]


def _footer(figures: Mapping[str, Any]) -> list[str]:
    versions = ", ".join(f"{name} {number}" for name, number in figures["versions"].items())
    return [
        "Time ratios are medians over the rounds of the ratio within a round; on a CPU, times are those of one thread",
        "on a processor, without the system's for fresh memory. Memory is what the allocator hands out to tensors at",
        "the peak of a step, weights and Adam's moments included.",
        "",
        f"On {figures['device']}; {versions}; `{figures['command']}`.",
        "",
    ]
