"""Residual layers that start as the identity, around whatever mixes the tokens of a sequence."""

from collections.abc import Sequence

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from vtr_core.config.blocks.learners import MambaLearner, NormPlace
from vtr_core.nn.mamba.block import MambaMixer
from vtr_core.nn.mamba.packing import pack, unpack


class GatedResiduals(nn.Module):
    """x ← x + g · (W mixer(LayerNorm(x)) + b), layer by layer (Tang et al. 2025, Eq. 7, with W = b = 0 at first).

    g has a number for each channel, which begins at `initial_gate` (Touvron et al. 2021, "Going deeper with image
    transformers", Eq. 2): small layers then have small gradients as a whole, and their last one is not a thousand times
    ahead of the others. With g = 0 every token comes back bit for bit, and nothing but g has a gradient until it has
    moved. It takes the place of any aggregator of (batch, tokens, dim). A mixer is called with tokens that come first
    in their row and a mask of them, or None.
    initial_gate: None leaves g out, as the published code does, whose W and b are drawn as torch does.
    norm: LayerNorm before the mixer, as above and in the published code, or after it, W LayerNorm(mixer(x)) + b, as in
    the paper's Eq. 7.
    """

    def __init__(
        self, dim: int, mixers: Sequence[nn.Module], initial_gate: float | None = 0.0, norm: NormPlace = "before"
    ) -> None:
        super().__init__()
        self.layers = nn.ModuleList(GatedResidual(dim, mixer, initial_gate, norm) for mixer in mixers)

    def forward(
        self, tokens: Float[Tensor, "batch tokens dim"], mask: Bool[Tensor, "batch tokens"] | None = None
    ) -> Float[Tensor, "batch tokens dim"]:
        """Tokens that `mask` leaves out come back as they are, and change nothing: as if they were not there.

        mask: None where every token counts, which saves sorting them out.
        """
        if mask is None:
            return self._layers(tokens, None)
        packed = pack(tokens, mask)
        learned = unpack(self._layers(packed.tokens, packed.mask), packed)
        return torch.where(mask.unsqueeze(2), learned, tokens)

    def _layers(
        self, tokens: Float[Tensor, "batch tokens dim"], mask: Bool[Tensor, "batch tokens"] | None
    ) -> Float[Tensor, "batch tokens dim"]:
        for layer in self.layers:
            tokens = layer(tokens, mask)
        return tokens


class ResMamba(GatedResiduals):
    """Gated residual layers of Mamba, MUSE's video learner."""

    def __init__(
        self, dim: int, config: MambaLearner, initial_gate: float | None = 0.0, norm: NormPlace = "before"
    ) -> None:
        super().__init__(dim, [MambaMixer(dim, config) for _ in range(config.layers)], initial_gate, norm)


class GatedResidual(nn.Module):
    """One of the layers of `GatedResiduals`."""

    def __init__(self, dim: int, mixer: nn.Module, initial_gate: float | None, norm: NormPlace) -> None:
        super().__init__()
        self._norm_place = norm
        self.norm, self.mixer, self.gate = nn.LayerNorm(dim), mixer, nn.Linear(dim, dim)
        self.scale: nn.Parameter | None
        if initial_gate is None:
            self.register_parameter("scale", None)
        else:
            self.scale = nn.Parameter(torch.full((dim,), float(initial_gate)))

    def forward(
        self, tokens: Float[Tensor, "batch tokens dim"], mask: Bool[Tensor, "batch tokens"] | None
    ) -> Float[Tensor, "batch tokens dim"]:
        """The tokens with what the layer adds to them."""
        before = self._norm_place == "before"
        mixed = self.mixer(self.norm(tokens) if before else tokens, mask)
        added = self.gate(mixed if before else self.norm(mixed))
        return tokens + (added if self.scale is None else self.scale * added)
