"""Decision whether two image files show the same subject."""

from dataclasses import dataclass


@dataclass(frozen=True)
class PairDecision:
    """The distance of two files, and the threshold up to which they count as the same."""

    distance: float
    threshold: float
