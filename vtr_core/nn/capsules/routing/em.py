"""EM routing: secondary capsules are Gaussians that compete for the votes of the primary ones."""

from math import isqrt, log

import torch
from jaxtyping import Float
from torch import Tensor, nn

from vtr_core.config.blocks.routing import EmRouting
from vtr_core.errors import ConfigError
from vtr_core.nn.capsules.capsules import Capsules
from vtr_core.nn.capsules.routing.gaussians import Gaussians, maximisation, responsibilities
from vtr_core.nn.precision import full_precision


class Em(nn.Module):
    """C secondary capsules from C primary ones by expectation maximisation (Hinton et al. 2018, procedure 1).

    V_ij = X_i W_ij                       the vote of capsule i for capsule j, all three matrices √d × √d, d = d1 = d2
    r_ij = 1/C, then M, E, M, …, M        `num_iterations` M-steps, see `gaussians.py`
    x̂_j = μ_j,  p̂_j = sigmoid(λ(β_a − cost_j))

    Differences from the publication: the cost is a mean over the d components, not their sum, so that the sigmoid does
    not saturate. With `config.density` "mean" the logarithm of a density is one as well: by its sum nearly all
    responsibilities are 0 or 1 before anything is learned (benchmarks/results/capsule_ablation.md). The
    responsibilities are constants for the gradient, as they are for EM's own M-step: the gradient flows through the
    last M-step alone and is bounded by the variance floor, whereas gradients through E-steps explode. All of it is
    computed in float32 or more, also under autocast. Each activation lies in [0, 1]; they do not sum to 1.

    W_ij is drawn with variance C/√d: the mean of C independent votes then has the variance of X_i for any C. β_u
    starts at −log √C, so that the cost is about that of the poses themselves; β_a starts at 0.
    Raises ConfigError unless d1 = d2 is a square number.
    """

    def __init__(self, num_capsules: int, primary_dim: int, config: EmRouting) -> None:
        super().__init__()
        side = isqrt(primary_dim)
        if side * side != primary_dim or config.pose_dim != primary_dim:
            raise ConfigError(
                f"model.primary_dim = {primary_dim} and model.routing.pose_dim = {config.pose_dim}: EM routing needs "
                "poses that are square matrices of one size; set both to the same square number (4, 9, 16, 25, 36, …)"
            )
        self.side = side
        self.num_iterations = config.num_iterations
        self.density = config.density
        self.inverse_temperature = config.inverse_temperature
        self.weight = nn.Parameter(torch.empty(num_capsules, num_capsules, side, side))
        nn.init.normal_(self.weight, std=(num_capsules / side) ** 0.5)
        self.variance_cost = nn.Parameter(torch.full((num_capsules,), -0.5 * log(num_capsules)))
        self.activation_cost = nn.Parameter(torch.zeros(num_capsules))

    def forward(self, capsules: Capsules) -> Capsules:
        """The secondary capsules."""
        votes = _votes(capsules.poses, self.weight)
        found = self._fit(votes, capsules.activations)
        return Capsules(poses=found.mean, activations=found.log_activation.exp())

    def _fit(
        self, votes: Float[Tensor, "batch secondary capsules pose"], activations: Float[Tensor, "batch capsules"]
    ) -> Gaussians:
        assigned = torch.full_like(votes[..., 0], 1 / votes.shape[1])
        costs = (self.variance_cost, self.activation_cost)
        with torch.no_grad():
            for iteration in range(1, self.num_iterations):
                temperature = self.inverse_temperature * iteration / self.num_iterations
                found = maximisation(votes, assigned, activations, *costs, temperature)
                assigned = responsibilities(votes, found, self.density)
        return maximisation(votes, assigned, activations, *costs, self.inverse_temperature)


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
