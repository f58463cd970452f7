"""Spaces compared: means over trainings, stable regions of dimensions, canonical correlations."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean, stdev

import torch
from jaxtyping import Float, Float64
from scipy.stats import ttest_ind_from_stats
from torch import Tensor

from vtr_core.errors import DatasetError


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


STABLE_LOSS = 0.03
"""How far below the best one, relative to it, the metrics of a stable region lie at most."""


def stable_region(dimensions: Sequence[int], figures: Sequence[float]) -> tuple[int, int]:
    """The first and the last of the dimensions around the best one whose mean metrics all lie within `STABLE_LOSS`.

    Trainings of the same dimension are averaged. One bad training ends the region, so give several per dimension where
    seeds differ by as much as that.
    """
    grid = sorted(set(dimensions))
    means = [fmean(value for d, value in zip(dimensions, figures, strict=True) if d == dim) for dim in grid]
    low = high = max(range(len(grid)), key=means.__getitem__)
    floor = means[low] - STABLE_LOSS * abs(means[low])
    while low > 0 and means[low - 1] >= floor:
        low -= 1
    while high + 1 < len(grid) and means[high + 1] >= floor:
        high += 1
    return grid[low], grid[high]


_SMALLEST_DIRECTION = 1e-10
"""Relative to the largest singular value: directions below this are rounding errors, not data."""


@dataclass(frozen=True)
class CanonicalCorrelations:
    """Pairs of directions as columns, by decreasing correlation, and the means that were subtracted.

    `fitted`: Pearson's correlations of the projections of the samples that they were fitted on.
    """

    first: Float64[Tensor, "dim pairs"]
    second: Float64[Tensor, "other pairs"]
    first_mean: Float64[Tensor, " dim"]
    second_mean: Float64[Tensor, " other"]
    fitted: Float64[Tensor, " pairs"]

    def correlations(
        self, first: Float[Tensor, "samples dim"], second: Float[Tensor, "samples other"]
    ) -> Float64[Tensor, " pairs"]:
        """Pearson's correlations of the projections of other samples; negative where a pair does not generalise."""
        return _pearson(
            (first.double() - self.first_mean) @ self.first, (second.double() - self.second_mean) @ self.second
        )


def canonical_correlations(
    first: Float[Tensor, "samples dim"],
    second: Float[Tensor, "samples other"],
    *,
    ridge: float,
    top: int | None = None,
) -> CanonicalCorrelations:
    """Pairs of directions u, w that maximise uᵀ S₁₂ w with uᵀ(S₁₁ + r₁I)u = wᵀ(S₂₂ + r₂I)w = 1, in float64.

    The `top` pairs of the highest correlation; None: all. r = ridge × mean variance of the space's dimensions, so it
    does not depend on the scale of either space; 0 is plain CCA. Each centred space is decomposed as U diag(s) Vᵀ,
    never through its covariance, whose condition number is the square; directions with s below 1e-10 of the largest are
    left out. The pairs are the singular vectors of D₁ U₁ᵀ U₂ D₂ with D = diag(s / √(s² + r (n − 1))). With fewer
    samples than dimensions and no ridge every fitted correlation is 1, which means nothing: use held-out samples.
    """
    if len(first) < 2:
        raise DatasetError(f"canonical correlations of {len(first)} samples; at least 2")
    a, b = _Whitened(first, ridge), _Whitened(second, ridge)
    left, _, right = torch.linalg.svd(a.shrunk.T @ b.shrunk, full_matrices=False)
    u, w = a.back @ left[:, :top], b.back @ right.T[:, :top]
    fitted = _pearson(a.centred @ u, b.centred @ w)
    return CanonicalCorrelations(u, w, a.mean, b.mean, fitted)


class _Whitened:
    """One space: centred samples, U D as `shrunk`, and V diag(1 / √(s² + r (n − 1))) · √(n − 1) as `back`."""

    def __init__(self, samples: Tensor, ridge: float) -> None:
        values = samples.double()
        self.mean = values.mean(dim=0)
        self.centred = values - self.mean
        if not self.centred.any():
            raise DatasetError("all samples of a space are the same; their correlation is undefined")
        freedom = len(values) - 1
        u, s, vt = torch.linalg.svd(self.centred, full_matrices=False)
        usable = s > _SMALLEST_DIRECTION * s[0]
        u, s, v = u[:, usable], s[usable], vt[usable].T
        mean_variance = s.square().sum() / freedom / samples.shape[1]
        lengths = (s.square() + ridge * mean_variance * freedom).sqrt()
        self.shrunk = u * (s / lengths)
        self.back = v / lengths * freedom**0.5


def _pearson(
    first: Float64[Tensor, "samples pairs"], second: Float64[Tensor, "samples pairs"]
) -> Float64[Tensor, " pairs"]:
    """Pearson's correlation column by column, in [−1, 1]; 0 for a constant column."""
    a, b = first - first.mean(dim=0), second - second.mean(dim=0)
    lengths = a.norm(dim=0) * b.norm(dim=0)
    return ((a * b).sum(dim=0) / torch.where(lengths > 0, lengths, 1)).clamp(-1, 1)
