"""How much better one way of training is than another, seed by seed."""

from collections.abc import Sequence
from dataclasses import dataclass

from vtr_core.metrics.intervals import Estimate, estimate


@dataclass(frozen=True)
class Difference:
    """A claim that `better` beats `worse`, and by how much it did, as pairs of runs with the same seed."""

    better: str
    worse: str
    difference: Estimate

    @property
    def verdict(self) -> str:
        """Whether the claim holds beyond the 95 % interval."""
        half = self.difference.half_width
        if half is None or abs(self.difference.mean) <= half:
            return "undecided"
        return "holds" if self.difference.mean > 0 else "contradicted"


def plus_minus(spread: float | None) -> str:
    """What stands behind a mean in points: ` ± spread`, or nothing where a single seed tells of none."""
    return "" if spread is None else f" ± {spread:.1f}"


def paired(better: str, worse: str, more: Sequence[float], less: Sequence[float]) -> Difference:
    """The difference of figures of the same seeds in the same order; what one side has more of is left out."""
    return Difference(better, worse, estimate([x - y for x, y in zip(more, less, strict=False)]))
