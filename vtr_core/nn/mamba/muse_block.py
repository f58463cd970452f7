"""MUSE's block as one module for any model of frames, its initial weights, and the mean over frames."""

from math import sqrt

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn
from torch.nn.functional import normalize

from vtr_core.config.towers import Aggregation, LearnerConfig, MambaLearner, NormPlace
from vtr_core.nn.initialization import GELU_SIZE, SILU_SIZE, keep_size
from vtr_core.nn.mamba.learners import (
    GatedConvolution,
    GatedResidual,
    GatedResiduals,
    SelfAttention,
    build_learner,
    reads_forward_alone,
)
from vtr_core.nn.mamba.mixer import MambaMixer
from vtr_core.nn.mamba.pyramid import Pyramid, ScaledFrames, grids_of_videos, learned_changes
from vtr_core.nn.precision import at_least_float32


def root_mean_square(frames: Float[Tensor, "rows frames dim"]) -> Float[Tensor, "rows frames 1"]:
    """The root of the mean square of each frame's values; 0 with a gradient of 0 for a frame of zeros."""
    square = frames.square().mean(dim=2, keepdim=True)
    return square.masked_fill(square == 0, 1).sqrt().masked_fill(square == 0, 0)


def of_unit_size(
    frames: Float[Tensor, "rows frames dim"], size: Float[Tensor, "rows frames 1"]
) -> Float[Tensor, "rows frames dim"]:
    """Frames divided by their `root_mean_square`; a frame of zeros stays as it is, and its gradient too."""
    return frames / size.masked_fill(size == 0, 1).clamp(min=1e-12)


def mean_direction(
    frames: Float[Tensor, "rows frames dim"], mask: Bool[Tensor, "rows frames"]
) -> Float[Tensor, "rows dim"]:
    """m / ‖m‖, m the mean of x / ‖x‖ over a row's frames x (meanP of Luo et al. 2021); 0 for a row without any."""
    directions = normalize(at_least_float32(frames), dim=2) * mask.unsqueeze(2)
    return normalize(directions.sum(dim=1) / mask.sum(dim=1, keepdim=True).clamp(min=1), dim=1)


_ATTENDED_SIZE = 0.7
"""Assumed size of attention's output, a mean of values of partly similar tokens."""


def initialize_learner(learner: GatedResiduals) -> None:
    """Initialises the linear maps of all layers."""
    for layer in learner.layers:
        assert isinstance(layer, GatedResidual)
        keep_size(layer.gate)
        _mixer(layer.mixer)


def initialize_pyramid(pyramid: Pyramid) -> None:
    """Initialises the convolutions of all scales."""
    for scale in pyramid.scales.values():
        initialize_convolutions(scale)


def initialize_convolutions(scale: nn.Module) -> None:
    """Initialises convolutions; the first reads tokens, the others the output of LayerNorm and GELU."""
    in_size = 1.0
    for layer in scale.modules():
        match layer:
            case nn.Conv1d() | nn.Conv2d() | nn.ConvTranspose2d():
                keep_size(layer, in_size)
                in_size = 1.0
            case nn.GELU():
                in_size = GELU_SIZE


def _mixer(mixer: nn.Module) -> None:
    match mixer:
        case MambaMixer():
            _mamba(mixer)
        case SelfAttention():
            keep_size(mixer.query_key_value)
            keep_size(mixer.out, in_size=_ATTENDED_SIZE)
        case GatedConvolution():
            keep_size(mixer.in_proj)
            keep_size(mixer.conv1d)
            keep_size(mixer.out_proj, in_size=SILU_SIZE**2)
        case _:
            raise AssertionError(f"a mixer without initial weights: {type(mixer).__name__}")


def _mamba(mixer: MambaMixer) -> None:
    """Initialises a mixer such that the inputs of Δ, B and C have size 1.

    The states then contribute noticeably to the output beside the skip connection D u, with D = 1. The output of each
    direction is assumed to be u · silu(z), since its states contribute less.
    """
    keep_size(mixer.in_proj)
    directions = [(mixer.conv1d, mixer.x_proj)]
    if mixer.config.scan == "v2":
        directions.append((mixer.conv1d_b, mixer.x_proj_b))
    for convolution, projection in directions:
        keep_size(convolution)
        keep_size(projection, in_size=SILU_SIZE)
    scans = 1 if mixer.config.scan == "none" else 2
    keep_size(mixer.out_proj, in_size=SILU_SIZE**2 * sqrt(scans))


class MuseBlock(nn.Module):
    """Frame vectors plus the residual of a sequence learner over the tokens of all scales (Tang et al. 2025, Figure 2).

    The input is one vector per frame and optionally its grid of patches; the output is frame vectors of the same shape,
    which the model then pools or compares with words. Frames are divided by their root mean square before the learner
    and the residual is multiplied by it, so that the learner sees only directions. With `initial_gate` 0 the output
    equals the input bit for bit at initialisation.
    """

    def __init__(
        self,
        dim: int,
        grid: int | None,
        scales: tuple[int, ...] = (1,),
        aggregation: Aggregation = "scale",
        learner: LearnerConfig | None = None,
        initial_gate: float = 0.1,
        norm: NormPlace = "before",
    ) -> None:
        super().__init__()
        chosen = MambaLearner() if learner is None else learner
        self.pyramid = None if grid is None or scales == (1,) else Pyramid(dim, grid, scales)
        self.learner: GatedResiduals = build_learner(dim, chosen, initial_gate, norm)
        initialize_learner(self.learner)
        if self.pyramid is not None:
            initialize_pyramid(self.pyramid)
        self._aggregation: Aggregation = aggregation
        self._kept_last = reads_forward_alone(chosen)

    def forward(
        self,
        cls: Float[Tensor, "rows frames dim"],
        patches: Float[Tensor, "rows frames patches dim"] | None,
        mask: Bool[Tensor, "rows frames"],
    ) -> Float[Tensor, "rows frames dim"]:
        """The updated frames; those that `mask` leaves out do not influence the others."""
        frames = torch.where(mask.unsqueeze(2), cls, 0)
        size = root_mean_square(frames)
        grids = []
        if self.pyramid is not None:
            assert patches is not None, "a block of several scales is given patches"
            grids = grids_of_videos(self.pyramid, patches, mask)
        scaled = ScaledFrames(of_unit_size(frames, size), mask, grids)
        return frames + size * learned_changes(scaled, self._aggregation, self.learner, self._kept_last)
