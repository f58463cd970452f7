"""Learning curve of a retrieval run: loss and text-to-video recall."""

from collections.abc import Mapping, Sequence
from typing import Any

from matplotlib.figure import Figure

from pipelines.report.bar_figure import blank_figure, name_axes

LOSS, FOUND = "train/loss", "val/t2v/r10"
_COLOUR = "#4c72b0"


def learning_curve(points: Sequence[Mapping[str, Any]], chance: float) -> Figure:
    """Figure of the loss by step (left) and of R@10 of validation captions by step, in percent, with chance (right).

    points: the lines of a run's metrics.jsonl. chance: in percent.
    """
    figure = blank_figure(9, 3.6)
    left, right = figure.subplots(1, 2)
    for axes, name in ((left, LOSS), (right, FOUND)):
        held = [(point["step"], point[name]) for point in points if name in point]
        axes.plot(*zip(*held, strict=True), marker="." if len(held) < 30 else "", color=_COLOUR)
        axes.set_ylim(bottom=0)
    right.axhline(chance, color="#c44e52", linestyle="--", label="chance")
    right.legend(fontsize=8)
    name_axes(left, "step", "", "training: loss")
    name_axes(right, "step", "%", "validation: R@10, text → video")
    return figure
