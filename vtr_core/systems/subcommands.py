"""Subcommands that a system adds: evaluations, papers' tables, analyses, explanations."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Subcommand:
    """A part of a command, with its own flags."""

    name: str
    """The name on the command line."""
    summary: str
    """Lines of the command's help."""
    run: Callable[[Sequence[str]], None]
    """Runs it with the command's other arguments; modules are imported only then, so that help is fast."""


@dataclass(frozen=True)
class Evaluation(Subcommand):
    """A task of `vtr evaluate --task <name>`."""

    figures: Callable[[str, str, str, str], Mapping[str, float]] | None = None
    """Metrics of a checkpoint on a data set, by name with a prefix, logged to an experiment; for rows of tables."""
