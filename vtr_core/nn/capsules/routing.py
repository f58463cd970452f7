"""The routing that a configuration names; by self-attention, by a set transformer, and none."""

from math import sqrt
from typing import assert_never, cast

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
from vtr_core.nn.capsules.dynamic_routing import Capsules, Dynamic, PoseMlp, Routing, SecondaryActivations
from vtr_core.nn.capsules.em_routing import Em
from vtr_core.nn.initialization import RELU_SIZE, SIGMOID_SIZE, SOFTMAX_SIZE, keep_size
from vtr_core.nn.transformer import attend, check_heads


class Unrouted(Routing):
    """x̂ᵢ = LayerNorm(MLP(pᵢxᵢ)), p̂ = softmax over the capsules of x̂ W_p + b_p (Duarte et al., section 4.4, Table 3)."""

    def __init__(self, num_capsules: int, primary_dim: int, config: NoRouting) -> None:
        super().__init__(num_capsules)
        self.mlp = PoseMlp(primary_dim, config.mlp_dim, config.pose_dim, config.dropout)
        self.norm_poses = nn.LayerNorm(config.pose_dim)
        self.activations = SecondaryActivations(config.pose_dim, config.carried_presence)

    def forward(self, capsules: Capsules) -> Capsules:
        """The secondary capsules."""
        return self.activations(self.norm_poses(self.mlp(capsules.weighted_poses())), capsules.activations)

    def initialize(self) -> None:
        """Draw weights by which poses keep size 1."""
        self.mlp.initialize(SIGMOID_SIZE)
        self.activations.initialize()


class SelfAttention(Routing):
    """C capsules of dimension d2 from C primary ones of dimension d1 (Duarte et al., Eq. 1, 2, 5 and appendix B).

    Q, K, V = h_Q(p x), h_K(p x), h_V(p x)                  two linear layers each, d1 → d2 → d2, no activation between
    V′ = softmax(Q Kᵀ / √(d2 / heads)) V                    per head, heads concatenated
    x̂ = LayerNorm(V′ + MLP(LayerNorm(V′)))                  MLP d2 → mlp_dim → d2, GELU, dropout
    p̂ = softmax over the capsules of x̂ W_p + b_p            see `SecondaryActivations`

    Two linear layers without an activation between them are one linear map, so their weights are multiplied first and
    applied to the batch once: the same values and gradients, for half the work and without the hidden layer in memory.

    Raises ConfigError where the heads do not divide d2.
    """

    def __init__(self, num_capsules: int, primary_dim: int, config: SelfAttentionRouting) -> None:
        super().__init__(num_capsules)
        check_heads("model.routing.pose_dim", config.pose_dim, config.num_heads)
        self.num_capsules, self.num_heads, self.initial_gain = num_capsules, config.num_heads, config.initial_gain
        self.query = _two_linear(primary_dim, config.pose_dim, config.initial_gain)
        self.key = _two_linear(primary_dim, config.pose_dim, config.initial_gain)
        self.value = _two_linear(primary_dim, config.pose_dim, config.initial_gain)
        self.norm_votes = nn.LayerNorm(config.pose_dim)
        self.mlp = PoseMlp(config.pose_dim, config.mlp_dim, config.pose_dim, config.dropout)
        self.norm_poses = nn.LayerNorm(config.pose_dim)
        self.activations = SecondaryActivations(config.pose_dim, config.carried_presence)

    def forward(self, capsules: Capsules) -> Capsules:
        """The secondary capsules."""
        votes = self._attend(capsules.weighted_poses())
        return self.activations(self.norm_poses(votes + self.mlp(self.norm_votes(votes))), capsules.activations)

    def initialize(self) -> None:
        """Draw weights by which attention logits have standard deviation gain², so that capsules attend differently.

        Values and outputs of the MLP have size 1.
        """
        layers = [cast(tuple[nn.Linear, nn.Linear], tuple(pair)) for pair in (self.query, self.key, self.value)]
        for first, _ in layers:
            keep_size(first, in_size=SIGMOID_SIZE)
        for _, second in layers[:2]:
            keep_size(second, out_size=self.initial_gain)
        keep_size(layers[2][1], in_size=_attended_size(self.num_capsules))
        self.mlp.initialize()
        self.activations.initialize()

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


class SetTransformer(Routing):
    """C secondary capsules from primary ones, invariant to the order of these (Lee et al. 2019, Eq. 6 to 8 and 11).

    Z = MAB(h(p x), h(p x))                       h one linear layer d1 → d2; the capsules attend to each other
    x̂ = MAB(S, Z)                                 S are C learned seeds of dimension d2
    p̂ = softmax over the capsules of x̂ W_p + b_p

    Raises ConfigError where the heads do not divide d2.
    """

    def __init__(self, num_capsules: int, primary_dim: int, config: SetTransformerRouting) -> None:
        super().__init__(num_capsules)
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

    def initialize(self) -> None:
        """Draw weights by which what is attended to has the size of what it is added to."""
        keep_size(self.embed, in_size=SIGMOID_SIZE)
        for block in (self.primary_block, self.seed_block):
            block.initialize(len(self.seeds))
        self.activations.initialize()


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

    def initialize(self, num_items: int) -> None:
        """Draw weights for `num_items` items of size 1."""
        keep_size(self.query)
        keep_size(self.key_value)
        self.key_value.weight.data[self.query.out_features :] /= _attended_size(num_items)
        keep_size(self.feed_forward, out_size=1 / RELU_SIZE)


def _attended_size(items: int) -> float:
    """Size of a mean of `items` independent values of size 1, weighted by a softmax of logits of deviation 1."""
    return SOFTMAX_SIZE / sqrt(items)


def build_routing(num_capsules: int, primary_dim: int, config: RoutingConfig) -> Routing:
    """A module from `num_capsules` primary `Capsules` of dimension `primary_dim` to as many secondary ones.

    The secondary ones have dimension `config.pose_dim`. Raises ConfigError where `config` does not fit the capsules.
    """
    match config:
        case SelfAttentionRouting():
            return SelfAttention(num_capsules, primary_dim, config)
        case NoRouting():
            return Unrouted(num_capsules, primary_dim, config)
        case DynamicRouting():
            return Dynamic(num_capsules, primary_dim, config)
        case EmRouting():
            return Em(num_capsules, primary_dim, config)
        case SetTransformerRouting():
            return SetTransformer(num_capsules, primary_dim, config)
        case _:
            assert_never(config)
