"""How a registered model is used: the columns that go in and come out, and what its page says of them."""

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
class Use:
    """What a model makes of a table's rows."""

    text: str
    """For people."""
    given: str
    """The table of an example, as Python has it."""
    asked: str | None
    """The column of what comes out that the example shows (None: all)."""
    takes: tuple[Column, ...]
    gives: tuple[Column, ...]
    example: Mapping[str, list[Any]]
    """A row that the model takes, by column; of features a vector of the right length."""
