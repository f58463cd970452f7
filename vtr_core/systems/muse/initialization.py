"""The initial weights of MUSE, layer by layer.

Tokens of every scale come to the learner with numbers of size 1, each layer of it makes numbers of size 1 of them, and
gates say how much of those is added. Sizes are root mean squares. What is no linear map has the initialisation that its
class states: norms are the identity, step sizes and decays those of Mamba, gates `initial_gate`.
"""

from math import sqrt

from torch import nn

from vtr_core.nn.initialization import GELU_SIZE, SILU_SIZE, keep_size
from vtr_core.nn.mamba.block import MambaMixer
from vtr_core.nn.mamba.learners import GatedConvolution, SelfAttention
from vtr_core.nn.mamba.pyramid import Pyramid
from vtr_core.nn.mamba.res_mamba import GatedResidual
from vtr_core.nn.mamba.temporal_scale import TemporalScale
from vtr_core.systems.muse.model import Muse, WordTower

_WORDS = 10
"""Of a caption, each of them once in its counts."""
_LEVEL_SIZE = 0.2
"""Of the numbers of levels 2 and 3: means of a GRU's outputs and strongest responses."""
_ATTENDED_SIZE = 0.7
"""Of the mean of a video's values, whose tokens are alike in part."""


def initialize(model: Muse) -> None:
    """Draw the weights of all linear maps but those of an encoder of words, which `_words` tells of."""
    if model.pyramid is not None:
        _pyramid(model.pyramid)
    for scale in model.temporal:
        assert isinstance(scale, TemporalScale)
        _convolutions(scale)
    for layer in model.learner.layers:
        assert isinstance(layer, GatedResidual)
        keep_size(layer.gate)
        _mixer(layer.mixer)
    if model.words is not None:
        _words(model.words)


def _pyramid(pyramid: Pyramid) -> None:
    for scale in pyramid.scales.values():
        _convolutions(scale)


def _convolutions(scale: nn.Module) -> None:
    """Each reads what a LayerNorm and then a GELU gave, the first one the tokens."""
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
    """Δ's inputs, B and C have size 1, so that states are seen beside u itself, which D = 1 lets through.

    Each direction gives u · silu(z) and what its states add, which is less.
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


def _words(words: WordTower) -> None:
    """The linear layer gives numbers of size 1 of a caption's counts and levels.

    What is below has torch's own on purpose: word vectors of size 1, a GRU and convolutions that are uniform within
    ±1/√in, whose small numbers leave the counts, which differ from caption to caption, most of the energy.
    """
    levels = words.encoder.levels
    energy = _WORDS + _LEVEL_SIZE**2 * levels.out_dim
    keep_size(words.linear, given=sqrt(energy / words.linear.in_features))
