"""Whether two files show the same."""

from dataclasses import dataclass


@dataclass(frozen=True)
class PairDecision:
    """The distance of two files, and the one up to which they count as the same."""

    distance: float
    threshold: float
