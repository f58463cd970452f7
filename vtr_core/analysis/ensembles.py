"""Several trainings: spread over seeds, significance of differences, the stable region of a dimension."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean, stdev

from scipy.stats import ttest_ind_from_stats

from vtr_core.errors import ConfigError, DatasetError


@dataclass(frozen=True)
class Spread:
    """The mean over runs and their standard deviation (divided by runs − 1; NaN for a single run)."""

    mean: float
    std: float
    runs: int


@dataclass(frozen=True)
class Difference:
    """The difference of means first − second, with two-sided p-values of the hypothesis that there is none."""

    difference: float
    z: float
    p_value: float
    """p-value of the Z-test, which takes the standard deviations as exact."""
    welch_p_value: float
    """p-value of Welch's t-test, which is the valid one with few seeds."""


def spread(values: Sequence[float]) -> Spread:
    """Mean and standard deviation of the runs' values."""
    if not values:
        raise DatasetError("a mean over runs needs one run at least")
    return Spread(fmean(values), stdev(values) if len(values) > 1 else math.nan, len(values))


def difference(first: Sequence[float], second: Sequence[float]) -> Difference | None:
    """z = (m₁ − m₂) / √(s₁²/n₁ + s₂²/n₂) and p = erfc(|z| / √2); None with fewer than two runs in either mean.

    With few runs a Z-test finds too many differences, so Welch's t-test is given, too. Where all runs of either variant
    have the same value, equal means have p = 1 and different ones p = 0.
    """
    a, b = spread(first), spread(second)
    if min(a.runs, b.runs) < 2:
        return None
    apart = a.mean - b.mean
    error = math.sqrt(a.std**2 / a.runs + b.std**2 / b.runs)
    if error == 0:
        certain = 1.0 if apart == 0 else 0.0
        return Difference(apart, math.copysign(math.inf, apart) if apart else 0.0, certain, certain)
    z = apart / error
    welch = ttest_ind_from_stats(a.mean, a.std, a.runs, b.mean, b.std, b.runs, equal_var=False)
    return Difference(apart, z, math.erfc(abs(z) / math.sqrt(2)), float(welch.pvalue))


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
