"""A step of a video and when it happens."""

from dataclasses import dataclass


@dataclass(frozen=True)
class TimedLabel:
    """An annotated segment: from `start` to `end` in seconds, what `label` names happens."""

    start: float
    end: float
    label: str
