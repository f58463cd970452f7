"""Figures of analyses: blank ones, axes, and horizontal bars of percentages with marks at baselines."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from matplotlib.axes import Axes
from matplotlib.figure import Figure


def blank_figure(width: float, height: float) -> Figure:
    """An empty figure of the given size in inches."""
    return Figure(figsize=(width, height), layout="constrained")


def name_axes(axes: Axes, x: str, y: str, title: str) -> None:
    """Set labels and title, which is not parsed as mathematics."""
    axes.set_xlabel(x)
    axes.set_ylabel(y)
    axes.set_title(title, parse_math=False, loc="left", fontsize=10)
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(alpha=0.25)


_ROW_INCHES, _FRAME_INCHES = 0.24, 1.0
_LABEL_WIDTH = 5.0
"""Width of the number beside a bar, in percent of the axis."""
_COLOURS = {"chance": "#c44e52", "best possible": "#55a868", "even parts": "#dd8452"}


@dataclass(frozen=True)
class Bar:
    """A value in percent, and baselines by name ("chance", "best possible", "even parts") in percent."""

    label: str
    value: float
    baselines: Mapping[str, float]


@dataclass(frozen=True)
class Panel:
    """The bars of one data set."""

    title: str
    bars: Sequence[Bar]


def bar_figure(panels: Sequence[Panel]) -> Figure:
    """Panels below each other: a horizontal bar for each value, with marks at the baselines."""
    heights = [_ROW_INCHES * len(panel.bars) + _FRAME_INCHES for panel in panels]
    figure = Figure(figsize=(8, sum(heights)), layout="constrained")
    axes = figure.subplots(len(panels), squeeze=False, height_ratios=heights)[:, 0]
    for panel, place in zip(panels, axes, strict=True):
        _draw(panel, place)
    return figure


def _draw(panel: Panel, axes: Axes) -> None:
    rows = range(len(panel.bars))
    axes.barh(rows, [bar.value for bar in panel.bars], color="#4c72b0", height=0.7)
    for row, bar in zip(rows, panel.bars, strict=True):
        near = [mark for mark in bar.baselines.values() if 0 <= mark - bar.value < _LABEL_WIDTH]
        axes.text(max([bar.value, *near]) + 0.8, row, f"{bar.value:.1f}", va="center", fontsize=7)
    for name in dict.fromkeys(name for bar in panel.bars for name in bar.baselines):
        where = [row for row, bar in zip(rows, panel.bars, strict=True) if name in bar.baselines]
        values = [panel.bars[row].baselines[name] for row in where]
        axes.plot(values, where, "|", markersize=11, markeredgewidth=2, color=_COLOURS.get(name, "black"), label=name)
    axes.set_yticks(rows, [bar.label for bar in panel.bars], fontsize=8)
    axes.set(xlim=(0, 100), xlabel="%", ylim=(len(panel.bars) - 0.5, -0.5))
    axes.set_title(panel.title, parse_math=False, loc="left", fontsize=10)
    axes.spines[["top", "right"]].set_visible(False)
    if any(bar.baselines for bar in panel.bars):
        axes.legend(loc="lower right", fontsize=8)
