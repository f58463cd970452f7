"""Tables of the analyses."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.table import Table


def blank_table(title: str, *columns: str) -> "Table":
    """A table without rows; its first column names them, the others hold figures."""
    from rich.table import Table

    table = Table(title=title, title_justify="left")
    for number, column in enumerate(columns):
        table.add_column(column, justify="right" if number else "left")
    return table
