"""Tables as terminal output, and as an HTML page for MLflow's artifacts."""

import io
import sys
from collections.abc import Sequence
from typing import TypeAlias

from rich.console import Console
from rich.table import Table

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
