"""The page of the ablation: for every world the rows, their searches, and the paper's claims."""

from collections.abc import Mapping, Sequence

from benchmarks.capsule_ablation.rows import PRESET, ROWS, TRIALS, compare
from benchmarks.capsule_ablation.worlds import WORLDS
from benchmarks.comparison.paired import plus_minus
from benchmarks.comparison.search import Searched
from benchmarks.machine import versions
from vtr_core.metrics.intervals import estimate


def markdown(worlds: Mapping[str, Mapping[str, Searched]], steps: int, command: str, machines: Sequence[str]) -> str:
    """The page of the finished rows by world, measured on `machines`."""
    lines = [
        "# The capsule paper's ablation, every row after the same search",
        "",
        f"Variants of `{PRESET}` (routings: 16 capsules, d1 = d2 = 16), {steps} steps of 128 clips (vidrel: 60): a "
        f"proxy, not the published size. {len(TRIALS)} settings once each, the best on validation data with several "
        "seeds. R@1 and R@10 in percent of unseen clips; in brackets the paper's on YouCook2. In synthetic worlds the "
        "last weights are judged, on real data those of the best validation. Rows: mean over seeds ± half of its 95 % "
        "t interval; differences: ± half of a 95 % t interval, paired by seed.",
    ]
    for name, rows in worlds.items():
        lines += ["", f"## {name}", "", WORLDS[name].what, "", *_row_lines(name, rows), "", *_claim_lines(name, rows)]
    numbers = ", ".join(f"{name} {number}" for name, number in versions("torch", "numpy").items())
    told = f"`{command}`, with `--worlds` and `--seeds` for each (`--again`, with a new `--work`, measures all anew)"
    origin = f"On {'; '.join(machines)}; {numbers}; {told}."
    return "\n".join([*lines, "", origin]) + "\n"


def _row_lines(world: str, rows: Mapping[str, Searched]) -> list[str]:
    head = f"| row | seeds | R@1 | R@10 | its setting | R@10 on validation data of {'; '.join(TRIALS)} |"
    lines = [head, "|---|---:|---:|---:|---|---|"]
    for name, row in rows.items():
        first, ten = (_figure(row.figures[metric]) for metric in WORLDS[world].shown)
        tried = "; ".join(f"{row.trials[trial]:.1f}" if trial in row.trials else "–" for trial in TRIALS)
        seeds = len(row.figures[WORLDS[world].shown[-1]])
        lines.append(f"| {ROWS[name].what} | {seeds} | {first} | **{ten}** | {row.best} | {tried} |")
    missing = [f"| {network.what} | not run | | | | |" for name, network in ROWS.items() if name not in rows]
    return [*lines, *missing]


def _figure(values: Sequence[float]) -> str:
    found = estimate(values)
    return f"{found.mean:.1f}{plus_minus(found.half_width)}"


def _claim_lines(world: str, rows: Mapping[str, Searched]) -> list[str]:
    differences = compare({name: row.figures[WORLDS[world].shown[-1]] for name, row in rows.items()})
    lines = [
        f"| {one.better} − {one.worse} | {one.difference.mean:+.1f}{plus_minus(one.difference.half_width)} "
        f"| {one.verdict} |"
        for one in differences
    ]
    head = "| R@10: the paper's order, means − sums over components, and carried presence | here | |"
    return [head, "|---|---:|---|", *lines]
