"""The dual encoders' benchmark as a page: the rows of Table 5.3, the thesis's claims, and training for causality."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from benchmarks.comparison.paired import Difference, paired
from vtr_core.tables.interval import estimate

COLUMNS = {
    "t2v_r1": "R@1",
    "t2v_r5": "R@5",
    "t2v_r10": "R@10",
    "t2v_medr": "MedR",
    "map": "mAP",
    "sum_r": "SumR",
    "c10": "C@10",
    "c30": "C@30",
}
PLAIN = "Jaccard 512"
READABLE = 50.0
"""Goal for C@10: half of a decision in what a person takes in at once."""


@dataclass(frozen=True)
class Claim:
    """What the thesis's Table 5.3 says: a row and way of scoring is above another in a figure."""

    text: str
    better: tuple[str, str]
    worse: tuple[str, str]
    figure: str


def _claims() -> list[Claim]:
    hybrid, latent, small = "hybrid 1536 + 512", "latent 2048", "Jaccard 256"
    found = [
        Claim("two spaces beat the latent one", (hybrid, "hybrid, original"), (latent, "latent"), "map"),
        Claim("two spaces beat concepts", (hybrid, "hybrid, original"), (PLAIN, "concepts, original"), "map"),
        Claim(
            "concepts trained alone beat those of a hybrid",
            (PLAIN, "concepts, original"),
            (hybrid, "concepts, original"),
            "map",
        ),
    ]
    for row in (hybrid, PLAIN, small, "cosine 512", "cosine 256"):
        for figure in ("map", "c10"):
            text = f"the transform raises the {COLUMNS[figure]} of {row}"
            found.append(Claim(text, (row, "concepts, improved"), (row, "concepts, original"), figure))
    for size in (512, 256):
        for figure in ("map", "c10"):
            text = f"cosine beats Jaccard in {COLUMNS[figure]} at {size} concepts"
            sides = [(f"{kind} {size}", "concepts, original") for kind in ("cosine", "Jaccard")]
            found.append(Claim(text, sides[0], sides[1], figure))
    for kind in ("Jaccard", "cosine"):
        sides = [(f"{kind} {size}", "concepts, original") for size in (256, 512)]
        found.append(Claim(f"256 concepts are more causal than 512, {kind}", sides[0], sides[1], "c10"))
    return found


def markdown(figures: Mapping[str, Any]) -> str:
    """The page."""
    numbers = ", ".join(f"{name} {number}" for name, number in figures["versions"].items())
    lines = [
        *_head(figures),
        *_table(figures["rows"], figures["ridge"]),
        *_claim_lines(figures["rows"]),
        *_causal(figures["rows"]),
        f"On {figures['machine']}; {numbers}; `{figures['command']}`.",
        "",
    ]
    return "\n".join(lines)


def _head(figures: Mapping[str, Any]) -> list[str]:
    settings = ", ".join(f"{name} {value}" for name, value in figures["settings"].items() if value is not None)
    videos = [figures["videos"][split] for split in ("train", "val", "test")]
    return [
        "# Dual encoders on MSR-VTT-800",
        "",
        f"{sum(videos)} videos of MSR-VTT with 50 frames of 128 features, split by video into train, val and test:",
        f"{' / '.join(map(str, videos))}. Each test caption searches for its video, each video for its captions.",
        f"{figures['seeds']} seeds; the checkpoint is chosen by validation SumR, the transform is searched on",
        "the validation videos. All figures are of the test videos, in percent but for ranks: mean ± standard",
        "deviation over the seeds. R@k and MedR are text → video, mAP is the mean of both directions, SumR the sum",
        "of both directions' recalls. Chance: R@10 5.",
        "",
        f"Beside the presets' values: {settings}; where a cosine is trained, learning rate 0.001.",
        "",
    ]


def _table(rows: Mapping[str, Sequence[Mapping[str, Any]]], ridge: Mapping[str, float]) -> list[str]:
    lines = [
        f"| training | scoring | 10⁶ parameters | {' | '.join(COLUMNS.values())} |",
        f"|---|---|---:|{'---:|' * len(COLUMNS)}",
    ]
    for name, runs in rows.items():
        for way in runs[0]["scored"]:
            cells = [_cell([run["scored"][way].get(column) for run in runs]) for column in COLUMNS]
            lines.append(f"| {name} | {way} | {runs[0]['parameters'] / 1e6:.2f} | {' | '.join(cells)} |")
    known = {"t2v_r1": "r1", "t2v_r5": "r5", "t2v_r10": "r10", "t2v_medr": "medr"}
    cells = [_cell([ridge[known[column]] if column in known else None]) for column in COLUMNS]
    return [*lines, f"| ridge regression on pooled features | cosine | – | {' | '.join(cells)} |", ""]


def _cell(values: Sequence[float | None]) -> str:
    present = [value for value in values if value is not None]
    if not present:
        return "–"
    found = estimate(present)
    return f"{found.mean:.1f}" if found.deviation is None else f"{found.mean:.1f} ± {found.deviation:.1f}"


def _claim_lines(rows: Mapping[str, Sequence[Mapping[str, Any]]]) -> list[str]:
    lines = [
        "## What the thesis's Table 5.3 says, here",
        "",
        "Differences paired by seed, with 95 % intervals.",
        "",
        "| claim | in | difference | |",
        "|---|---|---:|---|",
    ]
    for claim in _claims():
        sides = [[run["scored"][way][claim.figure] for run in rows[name]] for name, way in (claim.better, claim.worse)]
        one = paired(claim.better[0], claim.worse[0], *sides)
        lines.append(f"| {claim.text} | {COLUMNS[claim.figure]} | {_interval(one)} | {one.verdict} |")
    return [*lines, ""]


def _interval(one: Difference) -> str:
    half = one.difference.half_width
    return f"{one.difference.mean:+.1f}" if half is None else f"{one.difference.mean:+.1f} ± {half:.1f}"


def _causal(rows: Mapping[str, Sequence[Mapping[str, Any]]]) -> list[str]:
    """What training for causality reaches and costs, beside the plain concept model."""
    lines = [
        "## Training for causality",
        "",
        "detection × 8: concepts are detected with eight times the weight (`loss.concept_weight_factor`). prior .1:",
        "they begin at that probability (`model.concept_prior`). causality 5: the loss 5 · Σ (1 − c₁₀) over the",
        "matched pairs (`loss.causality_weight`). original: as trained; improved: with the transform of the search.",
        f"Differences are from {PLAIN} as trained, with the same seeds. Goal: C@10 of {READABLE:g} on the test videos",
        "without loss of validation mAP.",
        "",
        "| training | scoring | val mAP | − plain | test mAP | − plain | val C@10 | test C@10 | goal |",
        "|---|---|---:|---:|---:|---:|---:|---:|---|",
    ]
    plain = rows[PLAIN]
    for name in (name for name in rows if name.startswith(PLAIN)):
        for way in ("original", "improved"):
            figures = [_val(way, "map"), _scored(way, "map"), _val(way, "c10"), _scored(way, "c10")]
            val, test, *causality = [_each(rows[name], figure) for figure in figures]
            before = [_each(plain, figure("original", "map")) for figure in (_val, _scored)]
            gains = [paired(name, PLAIN, *sides) for sides in zip((val, test), before, strict=True)]
            reached = estimate(causality[1]).mean >= READABLE and gains[0].difference.mean >= 0
            cells = [_cell(val), _interval(gains[0]), _cell(test), _interval(gains[1]), *map(_cell, causality)]
            lines.append(f"| {name} | {way} | {' | '.join(cells)} | {'reached' if reached else 'no'} |")
    return [*lines, ""]


Figure = Callable[[Mapping[str, Any]], float]


def _val(way: str, figure: str) -> Figure:
    return lambda run: float(run["validation"][f"{way}/{figure}"])


def _scored(way: str, figure: str) -> Figure:
    return lambda run: float(run["scored"][f"concepts, {way}"][figure])


def _each(runs: Sequence[Mapping[str, Any]], figure: Figure) -> list[float]:
    return [figure(run) for run in runs]
