"""Figures and lists that a command prints or writes as a page."""

import io
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from rich.console import Console
from rich.table import Table

from vtr_core.storage import Location, presigned_url


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
_BASELINE = "#c44e52"


@dataclass(frozen=True)
class Bar:
    """A value in percent, and baselines by name, such as chance, in percent."""

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
        axes.plot(values, where, "|", markersize=11, markeredgewidth=2, color=_BASELINE, label=name)
    axes.set_yticks(rows, [bar.label for bar in panel.bars], fontsize=8)
    axes.set(xlim=(0, 100), xlabel="%", ylim=(len(panel.bars) - 0.5, -0.5))
    axes.set_title(panel.title, parse_math=False, loc="left", fontsize=10)
    axes.spines[["top", "right"]].set_visible(False)
    if any(bar.baselines for bar in panel.bars):
        axes.legend(loc="lower right", fontsize=8)


def blank_table(title: str, *columns: str) -> Table:
    """A table without rows; the first column is for row names, which are never cut, the others for numbers."""
    table = Table(title=title, title_justify="left")
    for number, column in enumerate(columns):
        table.add_column(column, justify="right" if number else "left", overflow="ellipsis" if number else "fold")
    return table


Printed: TypeAlias = "Table | str"

_WIDTH = 120
_FORMAT = """<!DOCTYPE html>
<html><head><meta charset="utf-8"><title>evaluation</title></head>
<body style="margin: 1em; color: {foreground}; background: {background}">
<pre style="font-family: Menlo, 'DejaVu Sans Mono', monospace; font-size: 13px; line-height: 1.3">{code}</pre>
</body></html>
"""


def show(parts: Sequence[Printed]) -> None:
    """Print tables and lines as they are, "[text]" too; tables as wide as the terminal or 120 columns."""
    console = Console(width=None if sys.stdout.isatty() else _WIDTH)
    for part in parts:
        if isinstance(part, str):
            print(part)
        else:
            console.print(part, markup=False, highlight=False)


def page(parts: Sequence[Printed]) -> str:
    """The tables and lines as an HTML page; all text is escaped."""
    console = Console(width=_WIDTH, record=True, file=io.StringIO(), force_terminal=False, color_system=None)
    for part in parts:
        console.print(part, markup=False, highlight=False)
    return console.export_html(inline_styles=True, code_format=_FORMAT)


_HOURS = 1


def print_link(location: Location) -> None:
    """Print a presigned link to a file on an S3-compatible store; nothing for other locations.

    The link gives access without credentials until it expires, so it is printed and never stored.
    """
    url = presigned_url(location, 3600 * _HOURS)
    if url is not None:
        print(f"link        {url}  (anyone can read it for {_HOURS} h)")
