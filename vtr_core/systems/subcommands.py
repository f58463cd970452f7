"""What a system adds to the commands: an evaluation, a paper's tables, an analysis, an explanation."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Subcommand:
    """A part of a command, with flags of its own."""

    name: str
    """By which it is asked for."""
    summary: str
    """What it does, in lines of the command's help."""
    run: Callable[[Sequence[str]], None]
    """Runs it with the command's other words. Imports it only then: help is instant."""


@dataclass(frozen=True)
class Evaluation(Subcommand):
    """What `vtr evaluate --task <name>` runs."""

    figures: Callable[[str, str, str, str], Mapping[str, float]] | None = None
    """Of a checkpoint on a data set, by metric name with a prefix, logged to an experiment; for rows of tables."""
