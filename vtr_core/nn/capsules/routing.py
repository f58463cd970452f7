"""The routing that a configuration names; by self-attention, by a set transformer, and none."""

from typing import assert_never

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn.functional import linear

from vtr_core.config.towers import (
    DynamicRouting,
    EmRouting,
    NoRouting,
    RoutingConfig,
    SelfAttentionRouting,
    SetTransformerRouting,
)
from vtr_core.nn.capsules.dynamic_routing import Capsules, Dynamic, SecondaryActivations, pose_mlp
from vtr_core.nn.capsules.em_routing import Em
from vtr_core.nn.transformer import attend, check_heads


class Unrouted(nn.Module):
    """x̂ᵢ = LayerNorm(MLP(pᵢxᵢ)), p̂ = softmax over the capsules of x̂ W_p + b_p (Duarte et al., section 4.4, Table 3)."""

    def __init__(self, primary_dim: int, config: NoRouting) -> None:
        super().__init__()
        self.mlp = pose_mlp(primary_dim, config.mlp_dim, config.pose_dim, config.dropout)
        self.norm_poses = nn.LayerNorm(config.pose_dim)
        self.activations = SecondaryActivations(config.pose_dim, config.carried_presence)

    def forward(self, capsules: Capsules) -> Capsules:
        """The secondary capsules."""
        return self.activations(self.norm_poses(self.mlp(capsules.weighted_poses())), capsules.activations)


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


class SetTransformer(nn.Module):
    """C secondary capsules from primary ones, invariant to the order of these (Lee et al. 2019, Eq. 6 to 8 and 11).

    Z = MAB(h(p x), h(p x))                       h one linear layer d1 → d2; the capsules attend to each other
    x̂ = MAB(S, Z)                                 S are C learned seeds of dimension d2
    p̂ = softmax over the capsules of x̂ W_p + b_p

    Raises ConfigError where the heads do not divide d2.
    """

    def __init__(self, num_capsules: int, primary_dim: int, config: SetTransformerRouting) -> None:
        super().__init__()
        check_heads("model.routing.pose_dim", config.pose_dim, config.num_heads)
        self.embed = nn.Linear(primary_dim, config.pose_dim)
        self.primary_block = AttentionBlock(config.pose_dim, config.num_heads)
        self.seeds = nn.Parameter(torch.randn(num_capsules, config.pose_dim))
        self.seed_block = AttentionBlock(config.pose_dim, config.num_heads)
        self.activations = SecondaryActivations(config.pose_dim)

    def forward(self, capsules: Capsules) -> Capsules:
        """The secondary capsules."""
        items = self.embed(capsules.weighted_poses())
        seeds = self.seeds.expand(len(items), -1, -1)
        return self.activations(self.seed_block(seeds, self.primary_block(items, items)))


class AttentionBlock(nn.Module):
    """MAB(X, Y) = LayerNorm(H + rFF(H)), H = LayerNorm(X + Attention(X W_Q, Y W_K, Y W_V)); rFF is linear and ReLU."""

    def __init__(self, dim: int, num_heads: int) -> None:
        super().__init__()
        self.num_heads = num_heads
        self.query = nn.Linear(dim, dim)
        self.key_value = nn.Linear(dim, 2 * dim)
        self.norm_attended = nn.LayerNorm(dim)
        self.feed_forward = nn.Linear(dim, dim)
        self.norm_out = nn.LayerNorm(dim)

    def forward(
        self, queries: Float[Tensor, "batch queries dim"], items: Float[Tensor, "batch items dim"]
    ) -> Float[Tensor, "batch queries dim"]:
        """The queries after attending to the items."""
        key, value = self.key_value(items).chunk(2, dim=2)
        attended = self.norm_attended(queries + attend(self.query(queries), key, value, self.num_heads))
        return self.norm_out(attended + self.feed_forward(attended).relu())


def build_routing(num_capsules: int, primary_dim: int, config: RoutingConfig) -> nn.Module:
    """A module from `num_capsules` primary `Capsules` of dimension `primary_dim` to as many secondary ones.

    The secondary ones have dimension `config.pose_dim`. Raises ConfigError where `config` does not fit the capsules.
    """
    match config:
        case SelfAttentionRouting():
            return SelfAttention(primary_dim, config)
        case NoRouting():
            return Unrouted(primary_dim, config)
        case DynamicRouting():
            return Dynamic(num_capsules, primary_dim, config)
        case EmRouting():
            return Em(num_capsules, primary_dim, config)
        case SetTransformerRouting():
            return SetTransformer(num_capsules, primary_dim, config)
        case _:
            assert_never(config)
