"""EM routing: secondary capsules are Gaussians that compete for the votes of the primary ones."""

from dataclasses import dataclass
from math import isqrt, log

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn.functional import logsigmoid

from vtr_core.config.towers import EmRouting, OverComponents
from vtr_core.errors import ConfigError
from vtr_core.nn.capsules.dynamic_routing import Capsules, Routing
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
    components: OverComponents = "mean",
) -> Gaussians:
    """The M-step: Gaussians fitted to the votes, weighted by their responsibilities (Hinton et al. 2018, procedure 1).

    R_ij = r_ij aᵢ,  n_j = Σᵢ R_ij,  μ_j = Σᵢ R_ij V_ij / n_j,  σ²_j = Σᵢ R_ij (V_ij − μ_j)² / n_j + floor
    cost_j = n_j Σ_h (β_u + log σ_jh),  log a_j = log sigmoid(λ(β_a − cost_j))

    components: "mean" has the mean over the components h in the place of their sum. On average over j, n_j is 1/C of
    the number of active input capsules, so at most about 1. A capsule that no vote is assigned to has μ = 0 and the
    floor as variance.
    """
    weights = assigned * activations.unsqueeze(1)
    total = weights.sum(dim=2)
    shares = weights / (total + _TOTAL_FLOOR).unsqueeze(2)
    mean = torch.einsum("bji,bjid->bjd", shares, votes)
    variance = torch.einsum("bji,bjid->bjd", shares, _squared_deviations(votes, mean)) + VARIANCE_FLOOR
    cost = total * (variance_cost + 0.5 * variance.log().mean(dim=2))
    if components == "sum":
        cost = cost * votes.shape[-1]
    return Gaussians(mean, variance, logsigmoid(inverse_temperature * (activation_cost - cost)))


@full_precision
def responsibilities(
    votes: Float[Tensor, "batch secondary capsules pose"],
    gaussians: Gaussians,
    components: OverComponents = "mean",
) -> Float[Tensor, "batch secondary capsules"]:
    """The E-step: r_ij = softmax over j of log a_j + log N(V_ij; μ_j, σ²_j); they sum to 1 for each input capsule.

    components: "mean" divides log N by the number of components.
    """
    precision = 1 / gaussians.variance
    distances = torch.einsum("bjid,bjd->bji", _squared_deviations(votes, gaussians.mean), precision)
    log_normaliser = gaussians.variance.log().sum(dim=2)
    log_density = -0.5 * (distances + log_normaliser.unsqueeze(2))
    if components == "mean":
        log_density = log_density / votes.shape[-1]
    return (gaussians.log_activation.unsqueeze(2) + log_density).softmax(dim=1)


def _squared_deviations(
    votes: Float[Tensor, "batch secondary capsules pose"], mean: Float[Tensor, "batch secondary pose"]
) -> Float[Tensor, "batch secondary capsules pose"]:
    return (votes - mean.unsqueeze(2)).square()


class Em(Routing):
    """C secondary capsules from C primary ones by expectation maximisation (Hinton et al. 2018, procedure 1).

    V_ij = X_i W_ij                       the vote of capsule i for capsule j, all three matrices √d × √d, d = d1 = d2
    r_ij = 1/C, then M, E, M, …, M        `num_iterations` M-steps, see `maximisation` and `responsibilities`
    x̂_j = μ_j,  p̂_j = sigmoid(λ(β_a − cost_j))

    `config.components` "sum" is the published procedure: cost and log density are sums over the d components, and
    gradients pass through the E-steps. The sums make nearly all responsibilities 0 or 1 before anything is learned
    (Duarte et al. see EM suffer from instability, section 4.4). "mean" differs in both: means over the components, and
    responsibilities that are constants for the gradient, as they are for EM's own M-step, so that it flows through the
    last M-step alone and is bounded by the variance floor. Computed in float32 or more, also under autocast. Each
    activation lies in [0, 1]; they do not sum to 1.

    W_ij is drawn with variance C/√d: the mean of C independent votes then has the variance of X_i for any C. β_u
    starts at −log √C, so that the cost is about that of the poses themselves; β_a starts at 0.
    Raises ConfigError unless d1 = d2 is a square number.
    """

    def __init__(self, num_capsules: int, primary_dim: int, config: EmRouting) -> None:
        super().__init__(num_capsules)
        side = isqrt(primary_dim)
        if side * side != primary_dim or config.pose_dim != primary_dim:
            raise ConfigError(
                f"model.primary_dim = {primary_dim} and model.routing.pose_dim = {config.pose_dim}: EM routing needs "
                "poses that are square matrices of one size; set both to the same square number (4, 9, 16, 25, 36, …)"
            )
        self.side = side
        self.num_iterations = config.num_iterations
        self.components = config.components
        self.activation_size = (
            0.55 if config.components == "mean" else num_capsules**0.25
        )  # of p̂ᵢx̂ᵢ, at 4 to 64 capsules
        self.inverse_temperature = config.inverse_temperature
        self.weight = nn.Parameter(torch.empty(num_capsules, num_capsules, side, side))
        nn.init.normal_(self.weight, std=(num_capsules / side) ** 0.5)
        self.variance_cost = nn.Parameter(torch.full((num_capsules,), -0.5 * log(num_capsules)))
        self.activation_cost = nn.Parameter(torch.zeros(num_capsules))

    def forward(self, capsules: Capsules) -> Capsules:
        """The secondary capsules."""
        votes = _votes(capsules.poses, self.weight)
        gaussians = self._fit(votes, capsules.activations)
        return Capsules(poses=gaussians.mean, activations=gaussians.log_activation.exp())

    def initialize(self) -> None:
        """There is no linear layer to draw."""

    def _fit(
        self, votes: Float[Tensor, "batch secondary capsules pose"], activations: Float[Tensor, "batch capsules"]
    ) -> Gaussians:
        assigned = torch.full_like(votes[..., 0], 1 / votes.shape[1])
        costs = (self.variance_cost, self.activation_cost)
        with torch.set_grad_enabled(torch.is_grad_enabled() and self.components == "sum"):
            for iteration in range(1, self.num_iterations):
                temperature = self.inverse_temperature * iteration / self.num_iterations
                gaussians = maximisation(votes, assigned, activations, *costs, temperature, self.components)
                assigned = responsibilities(votes, gaussians, self.components)
        return maximisation(votes, assigned, activations, *costs, self.inverse_temperature, self.components)


@full_precision
def _votes(
    poses: Float[Tensor, "batch capsules pose"], weight: Float[Tensor, "capsules secondary side side"]
) -> Float[Tensor, "batch secondary capsules pose"]:
    """X_i W_ij for all pairs, one matrix product per primary capsule, whose result is reshaped without a copy.

    A pose is stored as the concatenation of its rows, on which W_ij acts as a block-diagonal matrix of √d copies of it.
    """
    capsules, secondary, side, _ = weight.shape
    eye = torch.eye(side, dtype=weight.dtype, device=weight.device)
    diagonal = torch.einsum("st,ijmn->ismjtn", eye, weight).reshape(capsules, side * side, -1)
    votes = torch.bmm(poses.transpose(0, 1), diagonal)
    return votes.unflatten(2, (secondary, side * side)).permute(1, 2, 0, 3)
