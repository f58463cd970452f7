"""The stable region of a dimension study: embedding dimensions that perform about equally well (Figures 4.1 to 4.3)."""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean

from vtr_core.analysis.ensembles import Spread, spread
from vtr_core.errors import ConfigError, DatasetError

DEFAULT_LOSS = 0.03


@dataclass(frozen=True)
class StableRegion:
    """The dimensions from `low` to `high`, both trained, with mean and standard deviation of the metric over them."""

    low: int
    high: int
    figure: Spread


def stable_region(dimensions: Sequence[int], figures: Sequence[float], loss: float = DEFAULT_LOSS) -> StableRegion:
    """The dimensions around the best one whose mean metrics all lie at most `loss` below the best, relative to it.

    Trainings of the same dimension are averaged. One bad training ends the region, so give several per dimension where
    seeds differ by as much as `loss`.
    """
    if len(dimensions) != len(figures) or not dimensions:
        raise DatasetError(f"{len(dimensions)} dimensions and {len(figures)} figures; the same number, at least one")
    if not 0 <= loss < 1:
        raise ConfigError(f"the loss within a stable region is {loss}; it must be in [0, 1)")
    grid = sorted(set(dimensions))
    runs = {dim: [value for d, value in zip(dimensions, figures, strict=True) if d == dim] for dim in grid}
    means = [fmean(runs[dim]) for dim in grid]
    best = max(range(len(grid)), key=means.__getitem__)
    floor = means[best] - loss * abs(means[best])
    low = best
    while low > 0 and means[low - 1] >= floor:
        low -= 1
    high = best
    while high + 1 < len(grid) and means[high + 1] >= floor:
        high += 1
    inside = [value for dim in grid[low : high + 1] for value in runs[dim]]
    return StableRegion(grid[low], grid[high], spread(inside))
