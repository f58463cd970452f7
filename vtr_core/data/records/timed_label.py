"""Annotated segments."""

from dataclasses import dataclass


@dataclass(frozen=True)
class TimedLabel:
    """A segment from `start` to `end`, in seconds, with its label."""

    start: float
    end: float
    label: str
