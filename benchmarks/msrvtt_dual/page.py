"""The page of the thesis's tables on MSR-VTT-800: what the thesis says, as differences by seed, and the tables."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from benchmarks.comparison.paired import paired, plus_minus

NAMES = {
    "": "hybrid",
    "latent": "latent",
    "concept": "concepts alone",
    "pos-spacy": "hybrid with parts of speech",
    "concept-pos-spacy": "concepts alone with parts of speech",
    "causal": "concepts trained for causality",
}
"""By variant the name of a row."""
GOAL_C10 = 70.0
_HEADINGS = {"sum_r": "SumR", "map": "mAP", "c10": "C@10"}


@dataclass(frozen=True)
class Claim:
    """A way of scoring a row is above another in a figure; a way is (variant, space or transform)."""

    text: str
    better: tuple[str, str]
    worse: tuple[str, str]
    figure: str

    def sides(self, rows: Mapping[str, Mapping[str, Sequence[float]]]) -> tuple[Sequence[float], Sequence[float]]:
        """The figures by seed; empty where a row is not trained."""
        better, worse = (
            rows.get(variant, {}).get(f"msrvtt/{way}/{self.figure}", ()) for variant, way in (self.better, self.worse)
        )
        return better, worse


def _claims() -> list[Claim]:
    hybrid, latent, concept = ("", "two spaces"), ("latent", "latent"), ("concept", "concept")
    found = [
        Claim("two spaces − latent", hybrid, latent, "sum_r"),
        Claim("latent − concepts alone", latent, concept, "sum_r"),
        Claim("two spaces − concepts alone", hybrid, concept, "sum_r"),
        Claim("parts of speech − none, hybrid", ("pos-spacy", "two spaces"), hybrid, "sum_r"),
        Claim("parts of speech − none, concepts alone", ("concept-pos-spacy", "concept"), concept, "sum_r"),
    ]
    for variant, name in (("concept", "concepts alone"), ("", "concepts of the hybrid")):
        for search in ("improved", "joint", "causal", "kept", "enough"):
            ways = (variant, f"concepts, {search}"), (variant, "concepts, original")
            found += [Claim(f"{name}: {search} − original", *ways, figure) for figure in ("map", "c10")]
    return found


def markdown(figures: Mapping[str, Any], tables_page: str) -> str:
    """The page; tables_page is that of `vtr tables thesis`, whose head is left out."""
    numbers = ", ".join(f"{name} {number}" for name, number in figures["versions"].items())
    lines = [
        *_head(figures),
        *_differences(figures["rows"]),
        *_new_seeds(figures.get("new_seeds", {})),
        *_trained_rows(tables_page),
        "",
        f"On {figures['machine']}; {numbers}; `{figures['command']}`.",
        "",
    ]
    return "\n".join(lines)


def _trained_rows(tables_page: str) -> list[str]:
    """The lines of the tables, without the rows that have no figure of ours."""
    lines = tables_page[tables_page.index("## Table ") :].rstrip().splitlines()
    heads = ("| Method |", "| --- |")
    return [line for line in lines if not line.startswith("| ") or line.startswith(heads) or "**" in line]


def _head(figures: Mapping[str, Any]) -> list[str]:
    settings = ", ".join(f"{name} {value}" for name, value in figures["settings"].items() if value is not None)
    videos = figures["videos"]
    seeds = {name: _seeds(figures["rows"].get(row, {})) for row, name in NAMES.items()}
    trained = ", ".join(f"{name} {count}" for name, count in seeds.items() if count)
    return [
        "# The thesis's tables on MSR-VTT-800",
        "",
        f"{sum(videos)} videos of MSR-VTT with 50 frames of 128 features, split by video into train, val and test:",
        f"{' / '.join(map(str, videos))}. Each test caption searches for its video, each video for its captions. Word",
        "vectors are of captions, none of them of a validation or test video. The checkpoint is chosen by validation",
        "SumR, transforms are searched on the validation videos, all figures are of the test videos. Cells: the",
        "thesis's figure → ours ± half a 95 % interval. The thesis has 10,000 videos and other features: orders can be",
        "compared, levels cannot. Rows that were not trained are left out.",
        "",
        f"Beside the values of `hybrid-msrvtt-published`: {settings}. Seeds: {trained}.",
        f"Chance: R@10 {1000 / videos[2]:.1f}; [ridge regression on the same split](msrvtt_ridge.md).",
        "",
    ]


def _seeds(row: Mapping[str, Sequence[float]]) -> int:
    """Finished runs of a row; every one has a SumR by each of its ways of scoring."""
    return max((len(values) for name, values in row.items() if name.endswith("/sum_r")), default=0)


def _differences(rows: Mapping[str, Mapping[str, Sequence[float]]]) -> list[str]:
    lines = [
        "## What the thesis says",
        "",
        "Differences of runs with the same seed, in points, with 95 % intervals. improved: by the thesis's search;",
        "joint, causal, kept, enough: by the search over all parameters together. causal: the most causal transform",
        "with no less mAP on the validation videos; kept: with a 95 % interval of the difference in mAP not below 0,",
        "by a paired bootstrap over them; enough: the most accurate one with a C@10 of 72 % there.",
        "",
        "| difference | in | ours | seeds | |",
        "|---|---|---:|---:|---|",
    ]
    return [*lines, *(line for claim in _claims() for line in _line(claim, rows)), ""]


def _line(claim: Claim, rows: Mapping[str, Mapping[str, Sequence[float]]]) -> list[str]:
    better, worse = claim.sides(rows)
    if not better or not worse:
        return []
    one = paired("", "", better, worse)
    mean = f"{one.difference.mean:+.1f}{plus_minus(one.difference.half_width)}"
    cells = f"{_HEADINGS[claim.figure]} | {mean} | {one.difference.seeds}"
    return [f"| {claim.text} | {cells} | {one.verdict} |"]


def _new_seeds(found: Mapping[str, Any]) -> list[str]:
    """Of models that were trained after all searches were fixed: what the searches change, and the C@10 they reach."""
    if not found:
        return []
    rows: Mapping[str, Mapping[str, Sequence[float]]] = found["rows"]
    lines = [
        "## New seeds for the searches that hold mAP",
        "",
        f"Models with the same settings and the seeds {', '.join(map(str, found['seeds']))}, trained when all searches",
        "were fixed: no choice has seen a figure of them, and no other figure of this page is of them.",
        f"Goal: a C@10 of at least {GOAL_C10:g} % with no less mAP than without a transform, by the search `enough`.",
        "",
        "| difference | in | ours | seeds | |",
        "|---|---|---:|---:|---|",
    ]
    for claim in _claims():
        if claim.worse[1].startswith("concepts, "):
            lines += _line(claim, rows)
    lines += [
        "",
        "| model | search | C@10 by seed | mAP by seed | mAP without | goal in |",
        "|---|---|---|---|---|---|",
    ]
    for variant, row in rows.items():
        lines += [_by_seed(NAMES[variant], search, row) for search in ("causal", "kept", "enough")]
    return [*lines, ""]


def _by_seed(name: str, search: str, row: Mapping[str, Sequence[float]]) -> str:
    c10, kept = (row[f"msrvtt/concepts, {search}/{figure}"] for figure in ("c10", "map"))
    plain = row["msrvtt/concepts, original/map"]
    reached = sum(c >= GOAL_C10 and now >= before for c, now, before in zip(c10, kept, plain, strict=True))
    cells = (", ".join(f"{value:.1f}" for value in values) for values in (c10, kept, plain))
    return f"| {name} | {search} | {' | '.join(cells)} | {reached} of {len(c10)} |"
