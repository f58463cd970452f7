"""Figures and lists that a command prints or writes as a page."""

import io
import sys
from collections.abc import Sequence
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
