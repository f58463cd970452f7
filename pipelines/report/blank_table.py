"""Empty tables for the analyses."""

from rich.table import Table


def blank_table(title: str, *columns: str) -> Table:
    """A table without rows; the first column is for row names, which are never cut, the others for numbers."""
    table = Table(title=title, title_justify="left")
    for number, column in enumerate(columns):
        table.add_column(column, justify="right" if number else "left", overflow="ellipsis" if number else "fold")
    return table
