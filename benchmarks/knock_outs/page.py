"""The page of what each mechanism is worth."""

from collections.abc import Mapping, Sequence
from typing import Any

from benchmarks.comparison.paired import plus_minus
from benchmarks.knock_outs.mechanisms import MECHANISMS
from vtr_core.metrics.intervals import estimate


def markdown(known: Mapping[str, Mapping[str, Any]]) -> str:
    """The page: a row for each mechanism, those that were not measured named as such."""
    lines = [
        "# What each mechanism is worth",
        "",
        "| row | system, preset | data | mechanism | figure | with it | switched off at test time "
        "| trained without it | seeds |",
        "|---|---|---|---|---|---:|---:|---:|---:|",
        *(_row(name, row) for name, row in known.items()),
        *(
            f"| {name} | `{one.preset}` | {one.world} | {one.what} | {one.heading} | not run | | | |"
            for name, one in MECHANISMS.items()
            if name not in known
        ),
        "",
        "Figures in percent on unseen data. Rows: mean ± standard deviation over seeds; differences in brackets, what "
        "it costs: ± half of a 95 % t interval, paired by seed. A trained network is not made for what "
        "is switched off, so that the middle column is what it uses and the last one what it needs.",
    ]
    settings = {name: ", ".join(f"`{one}`" for one in row["settings"]) for name, row in known.items()}
    lines += [f"\n{name}: all runs with {text}." for name, text in settings.items() if text]
    machines = sorted({row["machine"] for row in known.values()})
    lines += ["", f"On {'; '.join(machines) or '–'}. `python -m benchmarks.knock_outs`"]
    return "\n".join(lines) + "\n"


def _row(name: str, row: Mapping[str, Any]) -> str:
    cells = [
        name,
        f"{row['system']}, `{row['preset']}`",
        row["data"],
        row["what"],
        row["figure"],
        _mean(row["with"]),
        *(_mean(row[way], row["with"]) for way in ("switched_off", "trained_without")),
        str(len(row["with"])),
    ]
    return f"| {' | '.join(cells)} |"


def _mean(values: Sequence[float] | None, beside: Sequence[float] | None = None) -> str:
    if values is None:
        return "–"
    found = estimate(tuple(values))
    text = f"{found.mean:.1f}{plus_minus(found.deviation)}"
    if beside is None:
        return text
    costs = estimate(tuple(with_it - value for with_it, value in zip(beside, values, strict=True)))
    return f"{text} ({costs.mean:+.1f}{plus_minus(costs.half_width)})"
