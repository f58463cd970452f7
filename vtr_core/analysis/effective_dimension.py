"""The effective dimension of a space: principal components, effective rank, variance between rows."""

from dataclasses import dataclass

import torch
from jaxtyping import Float, Float64
from torch import Tensor

from vtr_core.errors import DatasetError


@dataclass(frozen=True)
class PrincipalComponents:
    """Orthonormal directions as columns, by decreasing variance of the samples along them."""

    directions: Float64[Tensor, "dim components"]
    variances: Float64[Tensor, " components"]
    total: float
    """The variance along all directions together, those that were not computed included."""

    @property
    def normalised_variances(self) -> Float64[Tensor, " components"]:
        """Shares of the total variance; of all components they sum to 1 (Figure 4.4a)."""
        return self.variances / (self.total if self.total > 0 else 1)


def principal_components(samples: Float[Tensor, "samples dim"], most: int | None = None) -> PrincipalComponents:
    """The eigenvectors of the covariance (divided by samples − 1) of the centred samples.

    All of them in float64, from the singular values of the triangular factor of a QR decomposition, not from the
    covariance, which would square the condition number. With fewer samples than dimensions the last variances are 0;
    their directions complete the basis.

    most: of more dimensions only so many components, the first, by subspace iteration from random directions (Halko et
    al. 2011, Algorithm 4.4; torch's `svd_lowrank`) in the samples' own precision: memory of the samples twice and of
    dim × most, where all components would take dim × dim.
    """
    if len(samples) < 2:
        raise DatasetError(f"principal components of {len(samples)} samples; at least 2")
    dim, freedom = samples.shape[1], len(samples) - 1
    if most is not None and most < dim:
        most = min(most, freedom)
        centred = samples - samples.mean(dim=0)
        total = float(centred.square().sum(dim=1).double().sum() / freedom)
        # Six more directions, torch's own margin, so that the last of those that count are good, too.
        _, lengths, directions = torch.svd_lowrank(centred, q=min(most + 6, dim, len(samples)), niter=4)
        return PrincipalComponents(directions[:, :most].double(), lengths[:most].double().square() / freedom, total)
    centred = samples.double() - samples.double().mean(dim=0)
    small = torch.linalg.qr(centred, mode="r").R if len(centred) > dim else centred
    _, lengths, directions = torch.linalg.svd(small, full_matrices=True)
    variances = torch.zeros(dim, dtype=torch.float64)
    variances[: len(lengths)] = lengths.square() / freedom
    return PrincipalComponents(directions.T.contiguous(), variances, float(variances.sum()))


def component_counts(dim: int, per_octave: int = 2) -> list[int]:
    """1 … dim on a logarithmic grid with `per_octave` counts per factor of 2, including both ends."""
    counts, exponent = {1, dim}, 0
    while (count := round(2 ** (exponent / per_octave))) < dim:
        counts.add(count)
        exponent += 1
    return sorted(counts)


MOST_ROWS = 256
"""Maximum number of rows that `effective_rank` uses, the first ones."""


def row_share(values: Float[Tensor, "rows ..."]) -> float:
    """The share of the rows' energy that differs between them: 1 − ‖mean of the rows‖² / mean of ‖row‖².

    0 where all rows are alike, or 0 throughout; 1 where their mean is 0.
    """
    rows = values.detach().flatten(1).double()
    energy = rows.square().sum(dim=1).mean()
    return float(1 - rows.mean(dim=0).square().sum() / energy) if energy > 0 else 0.0


def score_deviation(scores: Float[Tensor, "rows items"]) -> float:
    """The standard deviation of scores around the mean of their row: 0 where rows do not discriminate items."""
    scores = scores.detach().double()
    return float((scores - scores.mean(dim=1, keepdim=True)).square().mean().sqrt())


def effective_rank(vectors: Float[Tensor, "rows dim"]) -> float:
    """exp(H(p)), p_k the share of the variance along the k-th principal axis (Roy and Vetterli 2007, Definition 1).

    At most MOST_ROWS rows are used, so it is at most MOST_ROWS − 1. 1 where all differences lie on a line, 0 where
    there are none.
    """
    rows = vectors.detach()[:MOST_ROWS].float()
    variances = torch.linalg.svdvals(rows - rows.mean(dim=0)).double().square()
    if variances.sum() <= torch.finfo(torch.float32).eps ** 2 * rows.square().sum():
        return 0.0
    shares = variances / variances.sum()
    return float(torch.special.entr(shares).sum().exp())
