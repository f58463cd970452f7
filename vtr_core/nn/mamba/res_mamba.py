"""Gated residual layers around a token mixer (Mamba, attention, …); with a gate of 0 they start as the identity."""

from collections.abc import Sequence

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from vtr_core.config.blocks.learners import MambaLearner, NormPlace
from vtr_core.nn.mamba.block import MambaMixer
from vtr_core.nn.mamba.packing import pack, unpack


class GatedResiduals(nn.Module):
    """x ← x + g · (W mixer(LayerNorm(x)) + b), layer by layer (Tang et al. 2025, Eq. 7, where W = b = 0 at first).

    g is a learned gate per channel that starts at `initial_gate` (LayerScale; Touvron et al. 2021, "Going deeper with
    image transformers", Eq. 2). A small g scales the gradients of all parameters of a layer alike; with a small W in
    its place, W would be a thousand times ahead of the layer's other parameters. With g = 0 the output equals the input
    bit for bit, and only g has a nonzero gradient until it has moved. The module can replace any aggregator of (batch,
    tokens, dim). A mixer is called with each row's valid tokens first and a mask of them, or None.
    initial_gate: None leaves g out, as the published code does, which initialises W and b by torch's default.
    residual: False computes x ← W mixer(LayerNorm(x)) + b, without g, as in the paper's Table 11.
    norm: LayerNorm before the mixer, as above and in the published code, or after it, W LayerNorm(mixer(x)) + b, as in
    the paper's Eq. 7.
    """

    def __init__(
        self,
        dim: int,
        mixers: Sequence[nn.Module],
        initial_gate: float | None = 0.0,
        norm: NormPlace = "before",
        residual: bool = True,
    ) -> None:
        super().__init__()
        self.layers = nn.ModuleList(GatedResidual(dim, mixer, initial_gate, norm, residual) for mixer in mixers)

    def forward(
        self, tokens: Float[Tensor, "batch tokens dim"], mask: Bool[Tensor, "batch tokens"] | None = None
    ) -> Float[Tensor, "batch tokens dim"]:
        """The tokens after all layers; those that `mask` leaves out are unchanged and do not influence the others.

        mask: None where every token is valid, which saves packing them.
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
        self,
        dim: int,
        config: MambaLearner,
        initial_gate: float | None = 0.0,
        norm: NormPlace = "before",
        residual: bool = True,
    ) -> None:
        super().__init__(dim, [MambaMixer(dim, config) for _ in range(config.layers)], initial_gate, norm, residual)


class GatedResidual(nn.Module):
    """One of the layers of `GatedResiduals`."""

    def __init__(
        self, dim: int, mixer: nn.Module, initial_gate: float | None, norm: NormPlace, residual: bool = True
    ) -> None:
        super().__init__()
        self._norm_place, self._residual = norm, residual
        self.norm, self.mixer, self.gate = nn.LayerNorm(dim), mixer, nn.Linear(dim, dim)
        self.scale: nn.Parameter | None
        if initial_gate is None or not residual:
            self.register_parameter("scale", None)
        else:
            self.scale = nn.Parameter(torch.full((dim,), float(initial_gate)))

    def forward(
        self, tokens: Float[Tensor, "batch tokens dim"], mask: Bool[Tensor, "batch tokens"] | None
    ) -> Float[Tensor, "batch tokens dim"]:
        """The tokens plus the layer's residual; without `residual` what would be added."""
        before = self._norm_place == "before"
        mixed = self.mixer(self.norm(tokens) if before else tokens, mask)
        added = self.gate(mixed if before else self.norm(mixed))
        if not self._residual:
            return added
        return tokens + (added if self.scale is None else self.scale * added)
