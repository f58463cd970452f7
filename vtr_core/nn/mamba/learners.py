"""Sequence learners in gated residual layers: Mamba, self-attention, gated convolution."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import assert_never

import torch
from jaxtyping import Bool, Float, Int64
from torch import Tensor, nn
from torch.nn.functional import scaled_dot_product_attention, silu

from vtr_core.config.towers import (
    FlashLearner,
    LearnerConfig,
    MambaLearner,
    MambaOutLearner,
    NoLearner,
    NormPlace,
    TransformerLearner,
)
from vtr_core.nn.mamba.mixer import MambaMixer
from vtr_core.nn.mamba.scan import scan_backend
from vtr_core.nn.transformer import check_heads


@dataclass(frozen=True)
class Packed:
    """Every row's valid tokens in their original order, then zeros."""

    tokens: Float[Tensor, "batch tokens dim"]
    mask: Bool[Tensor, "batch tokens"]
    """True for the tokens."""
    order: Int64[Tensor, "batch tokens"]
    """The original position of each token."""


def pack(tokens: Float[Tensor, "batch tokens dim"], mask: Bool[Tensor, "batch tokens"]) -> Packed:
    """Move each row's valid tokens to the front, so that a convolution sees neither padding nor gaps between them."""
    order = torch.argsort((~mask).to(torch.uint8), dim=1, stable=True)
    first = torch.arange(mask.shape[1], device=mask.device) < mask.sum(dim=1, keepdim=True)
    return Packed(torch.where(first.unsqueeze(2), _take(tokens, order), 0), first, order)


def unpack(values: Float[Tensor, "batch tokens dim"], packed: Packed) -> Float[Tensor, "batch tokens dim"]:
    """`values` of the packed tokens, moved back to the tokens' original positions."""
    return _take(values, torch.argsort(packed.order, dim=1))


def _take(values: Tensor, order: Tensor) -> Float[Tensor, "batch tokens dim"]:
    return values.gather(1, order.unsqueeze(2).expand(-1, -1, values.shape[2]))


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

    has_learner_factor = True

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


def build_learner(
    dim: int,
    config: LearnerConfig,
    initial_gate: float | None = 0.0,
    norm: NormPlace = "before",
    residual: bool = True,
) -> GatedResiduals:
    """The learner that `config` names, over tokens of `dim`; see `GatedResiduals` for its gates, norms and residuals.

    Raises ConfigError where attention heads do not divide `dim`.
    """
    mixers: list[nn.Module]
    match config:
        case MambaLearner():
            mixers = [MambaMixer(dim, config) for _ in range(config.layers)]
        case TransformerLearner() | FlashLearner():
            mixers = [SelfAttention(dim, config) for _ in range(config.layers)]
        case MambaOutLearner():
            mixers = [GatedConvolution(dim, config) for _ in range(config.layers)]
        case NoLearner():
            mixers = []
        case _:
            assert_never(config)
    return GatedResiduals(dim, mixers, initial_gate, norm, residual)


def reads_forward_alone(config: LearnerConfig) -> bool:
    """Whether a token is influenced only by those before it, so that what is read must come last in the sequence."""
    return isinstance(config, MambaLearner) and config.scan == "none"


def scan_event(config: LearnerConfig, device: torch.device, dtype: torch.dtype) -> Mapping[str, Mapping[str, str]]:
    """For a run's event log, the backend that scans tensors of `dtype`, with its reason; empty for other learners."""
    if not isinstance(config, MambaLearner):
        return {}
    choice = scan_backend(device, config.scan_backend, dtype)
    return {"scan": {"backend": choice.name, "reason": choice.reason}}


class SelfAttention(nn.Module):
    """softmax(Q Kᵀ / √(head width)) V per head, heads concatenated, and a linear layer (Vaswani et al. 2017, Eq. 1).

    `transformer` materialises the (tokens, tokens) attention matrix of every head, so time and memory are quadratic in
    the number of tokens; `flash` calls torch's fused attention, whose memory is linear. Both compute the same function.
    """

    def __init__(self, dim: int, config: TransformerLearner | FlashLearner) -> None:
        super().__init__()
        check_heads("the tokens' dimension", dim, config.num_heads)
        self.config = config
        self.query_key_value = nn.Linear(dim, 3 * dim)
        self.out = nn.Linear(dim, dim)

    def forward(
        self, tokens: Float[Tensor, "batch tokens dim"], mask: Bool[Tensor, "batch tokens"] | None = None
    ) -> Float[Tensor, "batch tokens dim"]:
        """The tokens after attention: each attends to the tokens of its row for which `mask` is true."""
        heads = self.query_key_value(tokens).unflatten(2, (3, self.config.num_heads, -1))
        query, key, value = heads.permute(2, 0, 3, 1, 4)
        match self.config:
            case TransformerLearner():
                attended = attend_with_matrix(query, key, value, _keys(mask))
            case FlashLearner():
                attended = scaled_dot_product_attention(query, key, value, _keys(mask))
            case _:
                assert_never(self.config)
        return self.out(attended.transpose(1, 2).flatten(2))


def attend_with_matrix(
    query: Float[Tensor, "batch heads tokens width"],
    key: Float[Tensor, "batch heads tokens width"],
    value: Float[Tensor, "batch heads tokens width"],
    keys: Bool[Tensor, "batch 1 1 tokens"] | None,
) -> Float[Tensor, "batch heads tokens width"]:
    """Attention that materialises the weights of all pairs; `keys` is true for tokens that may be attended to."""
    scores = torch.matmul(query * query.shape[3] ** -0.5, key.transpose(2, 3))
    if keys is not None:
        scores = scores.masked_fill(~keys, -torch.inf)
    return torch.matmul(torch.softmax(scores, dim=3), value)


def _keys(mask: Bool[Tensor, "batch tokens"] | None) -> Bool[Tensor, "batch 1 1 tokens"] | None:
    """The keys that may be attended to; all of them in a row without tokens, where the softmax would be NaN."""
    return None if mask is None else (mask | ~mask.any(dim=1, keepdim=True))[:, None, None]


class GatedConvolution(nn.Module):
    """W_out (silu(conv(x)) · silu(z)),  [x, z] = W_in tokens: Mamba's block without the scan (Yu and Wang 2024).

    As in the published block, the convolution is not causal: its window is centred on the token.
    """

    def __init__(self, dim: int, config: MambaOutLearner) -> None:
        super().__init__()
        inner = config.expansion * dim
        self.in_proj = nn.Linear(dim, 2 * inner, bias=False)
        self.conv1d = nn.Conv1d(inner, inner, config.conv, groups=inner, padding="same")
        self.out_proj = nn.Linear(inner, dim, bias=False)

    def forward(
        self, tokens: Float[Tensor, "batch tokens dim"], mask: Bool[Tensor, "batch tokens"] | None = None
    ) -> Float[Tensor, "batch tokens dim"]:
        """The mixed tokens; those that `mask` leaves out are undefined."""
        x, z = self.in_proj(tokens).transpose(1, 2).chunk(2, dim=1)
        if mask is not None:
            x = torch.where(mask.unsqueeze(1), x, 0)
        return self.out_proj((silu(self.conv1d(x)) * silu(z)).transpose(1, 2))
