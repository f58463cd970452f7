"""The page: rows with their searches, their differences by seed, and what a linear map reads of the corners."""

from collections.abc import Mapping, Sequence
from typing import Any

from benchmarks.comparison.paired import paired
from benchmarks.small_shapes.rows import CLAIMS, PRESET, RATES, ROWS, Row
from vtr_core.tables.interval import estimate


def markdown(rows: Mapping[str, Row], corners: Mapping[str, Mapping[str, float]], given: Mapping[str, Any]) -> str:
    """The page of the finished rows.

    given: films (by split), frames, epochs, machine, versions and command.
    """
    counts = given["films"]
    lines = [
        "# MUSE's scales on rendered films with small shapes",
        "",
        f"{sum(counts.values())} films of `vtr demo --videos`, each with three small shapes (a seventh of the picture "
        "wide) in its corners beside the large one that moves. A caption names two of the small ones with their "
        "corners (“red cross top left and blue star bottom right”), and never the large one; a film has three "
        "captions. Colours and shapes are the same in all corners.",
        "",
        "Every film was encoded, and extracted by `imagenet-lite-tokens`: EfficientNet-Lite0's 7 × 7 places and their "
        f"mean, of {given['frames']} frames. Rows are changes of `{PRESET}` with a trained projection of tokens and a "
        f"text encoder of words; {counts['train']} films train for {given['epochs']} epochs, {counts['val']} choose "
        f"the checkpoint and, of seed 0, the learning rate; each caption of {counts['test']} others searches among "
        "them. Mean and standard deviation over seeds; the same seed has the same batches in all rows. The captions' "
        "wording, the sizes and the two rates were fixed after trials some of which were judged on test films.",
        "",
        f"| row | R@1 | R@5 | R@10 | MedR | seeds | rate | R@10 on validation films at {', '.join(map(str, RATES))} |",
        "|---|---:|---:|---:|---:|---:|---:|---|",
        *(_row(name, rows[name]) if name in rows else f"| {name} | not run | | | | | | |" for name in ROWS),
        _chance(next(iter(rows.values()))),
        "",
        "| better | than | R@10, paired by seed | |",
        "|---|---|---:|---|",
        *_claims(rows),
        "",
        *_corners(corners),
        "",
        f"On {given['machine']}; {', '.join(f'{name} {number}' for name, number in given['versions'].items())}; "
        f"`{given['command']}`.",
    ]
    return "\n".join(lines) + "\n"


def _row(name: str, row: Row) -> str:
    found = [estimate(values) for values in row.figures.values()]
    cells = " | ".join(f"{one.mean:.1f} ± {one.deviation or 0:.1f}" for one in found)
    tried = ", ".join(f"{value:.1f}" for value in row.trials.values())
    return f"| {name} | {cells} | {found[0].seeds} | {row.best:g} | {tried} |"


def _chance(row: Row) -> str:
    return f"| *chance* | {' | '.join(f'{value:.1f}' for value in row.chance.values())} | | | |"


def _claims(rows: Mapping[str, Row]) -> Sequence[str]:
    lines = []
    for better, worse in CLAIMS:
        if better in rows and worse in rows:
            one = paired(better, worse, rows[better].figures["t2v/r10"], rows[worse].figures["t2v/r10"])
            interval = "" if one.difference.half_width is None else f" ± {one.difference.half_width:.1f}"
            lines.append(f"| {better} | {worse} | {one.difference.mean:+.1f}{interval} | {one.verdict} |")
    return lines


def _corners(corners: Mapping[str, Mapping[str, float]]) -> Sequence[str]:
    sources = list(next(iter(corners.values())))
    return [
        "What there is to gain: of how many test films a linear map, trained on the labels of the same training films, "
        "tells the colour and the shape in a corner, or that there is none, in per cent, mean over the four corners. "
        "Where a row with two scales finds no more than the mean, it is not for want of information in its tokens:",
        "",
        f"| | {' | '.join(sources)} |",
        f"|---|{'---:|' * len(sources)}",
        *(f"| {what} | {' | '.join(f'{each[name]:.0f}' for name in sources)} |" for what, each in corners.items()),
    ]
