"""Concrete dropout of capsules: each capsule learns its own dropout rate."""

import math

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn.functional import softplus

from vtr_core.config.blocks.towers import ConcreteDropout


class CapsuleDropout(nn.Module):
    """A relaxed mask z̃ for each row and capsule, with a learned rate p for each capsule (Gal et al. 2017, Eq. 5).

    z̃ = σ((logit p + logit u) / t), u uniform on (0, 1): near 1 the capsule is dropped;  x̃ = x (1 − z̃) / (1 − p)

    With `compat` "paper" z̃ = σ(logit p / t + logit u), Equation 2 of Siamese Capsule Networks as printed. In
    evaluation poses stay as they are.
    """

    def __init__(self, num_capsules: int, config: ConcreteDropout) -> None:
        super().__init__()
        self.config = config
        start = math.log(config.initial_rate) - math.log1p(-config.initial_rate)
        self.logit = nn.Parameter(torch.full((num_capsules,), start))

    def forward(self, poses: Float[Tensor, "batch capsules dim"]) -> Float[Tensor, "batch capsules dim"]:
        """The poses with a relaxed mask, drawn from torch's global generator."""
        if not self.training:
            return poses
        dropped = relaxed_mask(self.logit, torch.rand(poses.shape[:2]).to(poses.device), self.config)
        kept = (1 - dropped) / torch.sigmoid(-self.logit)
        return poses * kept.unsqueeze(2).to(poses.dtype)

    def penalty(self, weight: Float[Tensor, "units reading"]) -> Float[Tensor, ""]:
        """Σ over capsules c of λ_w Σ w² / (1 − p_c) − λ_H H(p_c): Gal et al. 2017, Eq. 3 and 4.

        weight: that of the layer that reads the concatenated poses of all capsules. H(p) = −p log p −
        (1 − p) log(1 − p), in nats. With `compat` "paper" its term is + λ_H H(p_c), Equation 3 as printed.
        """
        squares = weight.square().sum(dim=0).view(len(self.logit), -1).sum(dim=1)
        entropy = binary_entropy(self.logit)
        sign = 1.0 if self.config.compat == "paper" else -1.0
        by_weight = self.config.weight_penalty * squares / torch.sigmoid(-self.logit)
        return (by_weight + sign * self.config.entropy_penalty * entropy).sum()


def relaxed_mask(
    logit: Float[Tensor, " capsules"], uniform: Float[Tensor, "batch capsules"], config: ConcreteDropout
) -> Float[Tensor, "batch capsules"]:
    """z̃, see `CapsuleDropout`; values of u of exactly 0 or 1 are clamped into the open interval."""
    noise = uniform.clamp(1e-7, 1 - 1e-7).logit()
    if config.compat == "paper":
        return (logit / config.temperature + noise).sigmoid()
    return ((logit + noise) / config.temperature).sigmoid()


def binary_entropy(logit: Float[Tensor, " capsules"]) -> Float[Tensor, " capsules"]:
    """H(p) in nats of p = σ(logit), finite for every logit: p softplus(−l) + (1 − p) softplus(l)."""
    rate = logit.sigmoid()
    return rate * softplus(-logit) + (1 - rate) * softplus(logit)
