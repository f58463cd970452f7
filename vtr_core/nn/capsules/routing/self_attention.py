"""Routing by self-attention over all primary capsules, in one pass."""

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn.functional import linear

from vtr_core.config.blocks.routing import SelfAttentionRouting
from vtr_core.nn.attention import attend, check_heads
from vtr_core.nn.capsules.capsules import Capsules
from vtr_core.nn.capsules.routing.secondary import SecondaryActivations, pose_mlp


class SelfAttention(nn.Module):
    """C capsules of dimension d2 from C primary ones of dimension d1 (Duarte et al., Eq. 1, 2, 5 and appendix B).

    Q, K, V = h_Q(p x), h_K(p x), h_V(p x)                  two linear layers each, d1 → d2 → d2, no activation between
    V′ = softmax(Q Kᵀ / √(d2 / heads)) V                    per head, heads concatenated
    x̂ = LayerNorm(V′ + MLP(LayerNorm(V′)))                  MLP d2 → mlp_dim → d2, GELU, dropout
    p̂ = softmax over the capsules of x̂ W_p + b_p            see `SecondaryActivations`

    Two linear layers without an activation between them are one linear map, so their weights are multiplied first and
    applied to the batch once: the same values and gradients, for half the work and without the hidden layer in memory.

    Raises ConfigError where the heads do not divide d2.
    """

    def __init__(self, primary_dim: int, config: SelfAttentionRouting) -> None:
        super().__init__()
        check_heads("model.routing.pose_dim", config.pose_dim, config.num_heads)
        self.num_heads = config.num_heads
        self.query = _two_linear(primary_dim, config.pose_dim, config.initial_gain)
        self.key = _two_linear(primary_dim, config.pose_dim, config.initial_gain)
        self.value = _two_linear(primary_dim, config.pose_dim, config.initial_gain)
        self.norm_votes = nn.LayerNorm(config.pose_dim)
        self.mlp = pose_mlp(config.pose_dim, config.mlp_dim, config.pose_dim, config.dropout)
        self.norm_poses = nn.LayerNorm(config.pose_dim)
        self.activations = SecondaryActivations(config.pose_dim, config.carried_presence)

    def forward(self, capsules: Capsules) -> Capsules:
        """The secondary capsules."""
        votes = self._attend(capsules.weighted_poses())
        return self.activations(self.norm_poses(votes + self.mlp(self.norm_votes(votes))), capsules.activations)

    def _attend(self, poses: Float[Tensor, "batch capsules primary"]) -> Float[Tensor, "batch capsules pose"]:
        maps = [_product(*layers) for layers in (self.query, self.key, self.value)]
        weight, bias = (torch.cat(parts) for parts in zip(*maps, strict=True))
        query, key, value = linear(poses, weight, bias).chunk(3, dim=2)
        return attend(query, key, value, self.num_heads)


def _two_linear(in_dim: int, out_dim: int, gain: float) -> nn.Sequential:
    layers = nn.Sequential(nn.Linear(in_dim, out_dim), nn.Linear(out_dim, out_dim))
    for name, parameter in layers.named_parameters():
        if name.endswith("weight"):
            parameter.data.mul_(gain)
    return layers


def _product(first: nn.Linear, second: nn.Linear) -> tuple[Float[Tensor, "pose primary"], Float[Tensor, " pose"]]:
    """Weight and bias of `second` after `first`: W₂W₁ and W₂b₁ + b₂."""
    return second.weight @ first.weight, linear(first.bias, second.weight, second.bias)
