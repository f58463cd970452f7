"""The signature of a registered model: its input and output columns, an example, and a description."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

ColumnKind = Literal["text", "integers", "floats", "doubles", "frames"]
"""A cell is a text, a list of numbers, or a list of lists of doubles: a video's frames."""


@dataclass(frozen=True)
class Column:
    """A column of a table."""

    name: str
    kind: ColumnKind
    required: bool = True
    """Whether every table has it, and every row a value."""


@dataclass(frozen=True)
class Signature:
    """The columns of the tables that a registered model takes and returns, and its description for MLflow's page."""

    description: str
    example_input: str
    """The arguments of pandas.DataFrame in the page's example."""
    example_output: str | None
    """The output column that the page's example selects (None: all)."""
    inputs: tuple[Column, ...]
    outputs: tuple[Column, ...]
    example_row: Mapping[str, list[Any]]
    """A valid input row, by column; feature vectors have the right length."""
