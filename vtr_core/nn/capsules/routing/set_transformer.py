"""Routing by a set transformer: secondary capsules are learned queries over the primary capsules."""

import torch
from jaxtyping import Float
from torch import Tensor, nn

from vtr_core.config.blocks.routing import SetTransformerRouting
from vtr_core.nn.attention import attend, check_heads
from vtr_core.nn.capsules.capsules import Capsules
from vtr_core.nn.capsules.routing.secondary import SecondaryActivations


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
