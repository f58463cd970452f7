"""The two steps of EM routing: Gaussians fitted to votes, and votes assigned to Gaussians."""

from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn.functional import logsigmoid

from vtr_core.config.blocks.routing import OverComponents
from vtr_core.nn.precision import full_precision

VARIANCE_FLOOR = 1e-4
"""Added to every variance: a Gaussian that holds a single vote stays finite, and so does its gradient."""
_TOTAL_FLOOR = 1e-6


@dataclass(frozen=True)
class Gaussians:
    """A diagonal Gaussian per secondary capsule, and the logarithm of the capsule's activation."""

    mean: Float[Tensor, "batch secondary pose"]
    variance: Float[Tensor, "batch secondary pose"]
    log_activation: Float[Tensor, "batch secondary"]


@full_precision
def maximisation(
    votes: Float[Tensor, "batch secondary capsules pose"],
    assigned: Float[Tensor, "batch secondary capsules"],
    activations: Float[Tensor, "batch capsules"],
    variance_cost: Float[Tensor, " secondary"],
    activation_cost: Float[Tensor, " secondary"],
    inverse_temperature: float,
) -> Gaussians:
    """The M-step: Gaussians fitted to the votes, weighted by their responsibilities (Hinton et al. 2018, procedure 1).

    R_ij = r_ij aᵢ,  n_j = Σᵢ R_ij,  μ_j = Σᵢ R_ij V_ij / n_j,  σ²_j = Σᵢ R_ij (V_ij − μ_j)² / n_j + floor
    cost_j = n_j (β_u + mean over the components of log σ_j),  log a_j = log sigmoid(λ(β_a − cost_j))

    On average over j, n_j is 1/C of the number of active input capsules, so at most about 1. A capsule that no vote is
    assigned to has μ = 0 and the floor as variance.
    """
    weights = assigned * activations.unsqueeze(1)
    total = weights.sum(dim=2)
    shares = weights / (total + _TOTAL_FLOOR).unsqueeze(2)
    mean = torch.einsum("bji,bjid->bjd", shares, votes)
    variance = torch.einsum("bji,bjid->bjd", shares, _squared_deviations(votes, mean)) + VARIANCE_FLOOR
    cost = total * (variance_cost + 0.5 * variance.log().mean(dim=2))
    return Gaussians(mean, variance, logsigmoid(inverse_temperature * (activation_cost - cost)))


@full_precision
def responsibilities(
    votes: Float[Tensor, "batch secondary capsules pose"],
    gaussians: Gaussians,
    density: OverComponents = "sum",
) -> Float[Tensor, "batch secondary capsules"]:
    """The E-step: r_ij = softmax over j of log a_j + log N(V_ij; μ_j, σ²_j); they sum to 1 for each input capsule.

    density: "mean" divides log N by the number of components.
    """
    precision = 1 / gaussians.variance
    distances = torch.einsum("bjid,bjd->bji", _squared_deviations(votes, gaussians.mean), precision)
    log_normaliser = gaussians.variance.log().sum(dim=2)
    log_density = -0.5 * (distances + log_normaliser.unsqueeze(2))
    if density == "mean":
        log_density = log_density / votes.shape[-1]
    return (gaussians.log_activation.unsqueeze(2) + log_density).softmax(dim=1)


def _squared_deviations(
    votes: Float[Tensor, "batch secondary capsules pose"], mean: Float[Tensor, "batch secondary pose"]
) -> Float[Tensor, "batch secondary capsules pose"]:
    return (votes - mean.unsqueeze(2)).square()
