"""Initial weights of MUSE's pyramid and of the mixers of its learners.

The size of a tensor is its root mean square. Tokens of every scale enter the learner with size 1, each of its layers
computes a residual of size 1, and the gates scale the residuals that are added to the tokens. Parameters other than
linear maps keep the initialisation of their class: norms are the identity, step sizes and decays those of Mamba, gates
as given.
"""

from math import sqrt

from torch import nn

from vtr_core.nn.initialization import GELU_SIZE, SILU_SIZE, keep_size
from vtr_core.nn.mamba.block import MambaMixer
from vtr_core.nn.mamba.learners import GatedConvolution, SelfAttention
from vtr_core.nn.mamba.pyramid import Pyramid
from vtr_core.nn.mamba.res_mamba import GatedResidual, GatedResiduals

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
    given = 1.0
    for layer in scale.modules():
        match layer:
            case nn.Conv1d() | nn.Conv2d() | nn.ConvTranspose2d():
                keep_size(layer, given)
                given = 1.0
            case nn.GELU():
                given = GELU_SIZE


def _mixer(mixer: nn.Module) -> None:
    match mixer:
        case MambaMixer():
            _mamba(mixer)
        case SelfAttention():
            keep_size(mixer.query_key_value)
            keep_size(mixer.out, given=_ATTENDED_SIZE)
        case GatedConvolution():
            keep_size(mixer.in_proj)
            keep_size(mixer.conv1d)
            keep_size(mixer.out_proj, given=SILU_SIZE**2)
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
        keep_size(projection, given=SILU_SIZE)
    scans = 1 if mixer.config.scan == "none" else 2
    keep_size(mixer.out_proj, given=SILU_SIZE**2 * sqrt(scans))
