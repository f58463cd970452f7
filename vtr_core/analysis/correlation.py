"""Canonical correlations between two spaces: whether they contain the same information up to a linear map."""

from dataclasses import dataclass

import torch
from jaxtyping import Float, Float64
from torch import Tensor

from vtr_core.errors import ConfigError, DatasetError

DEFAULT_RIDGE = 1e-3
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
    ridge: float = DEFAULT_RIDGE,
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
    if not ridge >= 0:
        raise ConfigError(f"the ridge of the canonical correlations is {ridge}; it must be 0 or more")
    if top is not None and top < 1:
        raise ConfigError(f"the top {top} canonical correlations; at least 1")
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
