"""The transformer that CLIP uses for images and for captions."""

from collections import OrderedDict

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

from vtr_core.config.blocks.clip import Activation


class QuickGelu(nn.Module):
    """x σ(1.702 x), the activation that OpenAI's weights were trained with."""

    def forward(self, x: Float[Tensor, "*places dim"]) -> Float[Tensor, "*places dim"]:
        """The activation."""
        return x * torch.sigmoid(1.702 * x)


class ResidualAttentionBlock(nn.Module):
    """x + attention(LN(x)), then x + MLP(LN(x))."""

    def __init__(self, width: int, heads: int, activation: Activation) -> None:
        super().__init__()
        self.attn = nn.MultiheadAttention(width, heads, batch_first=True)
        self.ln_1, self.ln_2 = nn.LayerNorm(width), nn.LayerNorm(width)
        linear, back = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)
        gelu = nn.GELU() if activation == "gelu" else QuickGelu()
        self.mlp = nn.Sequential(OrderedDict(c_fc=linear, gelu=gelu, c_proj=back))

    def forward(
        self, tokens: Float[Tensor, "rows tokens width"], hidden: Bool[Tensor, "*_ tokens tokens"] | None
    ) -> Float[Tensor, "rows tokens width"]:
        """The tokens after the block; hidden[i, j]: token i does not attend to token j (None: all attend to all)."""
        given = self.ln_1(tokens)
        tokens = tokens + self.attn(given, given, given, need_weights=False, attn_mask=hidden)[0]
        return tokens + self.mlp(self.ln_2(tokens))


class Transformer(nn.Module):
    """Blocks one after the other; with `recompute` their activations are recomputed in the backward pass."""

    def __init__(
        self, width: int, layers: int, heads: int, recompute: bool = False, activation: Activation = "quick_gelu"
    ) -> None:
        super().__init__()
        self.heads, self._recompute = heads, recompute
        self.resblocks = nn.ModuleList(ResidualAttentionBlock(width, heads, activation) for _ in range(layers))

    def forward(
        self, tokens: Float[Tensor, "rows tokens width"], hidden: Bool[Tensor, "*_ tokens tokens"] | None = None
    ) -> Float[Tensor, "rows tokens width"]:
        """The tokens after all blocks."""
        for block in self.resblocks:
            if self._recompute and torch.is_grad_enabled():
                tokens = checkpoint(block, tokens, hidden, use_reentrant=False)
            else:
                tokens = block(tokens, hidden)
        return tokens


def initialize(transformer: Transformer, width: int) -> None:
    """Draws the initial weights of Radford et al. 2021's published code: smaller ones in deeper transformers."""
    layers = len(transformer.resblocks)
    residual, attention, first = (
        width**-0.5 * (2 * layers) ** -0.5,
        width**-0.5,
        (2 * width) ** -0.5,
    )
    for block in transformer.resblocks:
        assert isinstance(block, ResidualAttentionBlock)
        nn.init.normal_(block.attn.in_proj_weight, std=attention)
        nn.init.normal_(block.attn.out_proj.weight, std=residual)
        for layer, std in zip((block.mlp[0], block.mlp[2]), (first, residual), strict=True):
            assert isinstance(layer, nn.Linear)
            nn.init.normal_(layer.weight, std=std)
