"""The initial weights of MUSE, layer by layer.

Tokens of every scale enter the learner with size 1, each of its layers computes outputs of size 1, and gates scale what
is added to the tokens. Sizes are root mean squares. Parameters other than linear maps keep the initialisation of their
class: norms are the identity, step sizes and decays those of Mamba, gates `initial_gate`.
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
"""Assumed number of words of a caption, each with count 1."""
_LEVEL_SIZE = 0.2
"""Assumed size of the values of levels 2 and 3: means of a GRU's outputs and maxima of convolutions."""
_ATTENDED_SIZE = 0.7
"""Assumed size of attention's output, a mean of values of partly similar tokens."""


def initialize(model: Muse) -> None:
    """Initialises the weights of all linear maps; those of a text encoder of words as in `_words`."""
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
    """Initialises a mixer such that Δ's inputs, B and C have size 1: states are visible beside u, which D = 1 passes
    on.

    The output of each direction is taken to be u · silu(z); the contribution of its states is smaller.
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
    """Initialises the linear layer such that its output has size 1.

    The encoder below keeps torch's initialisation on purpose: word vectors of size 1, and a GRU and convolutions
    uniform within ±1/√in, whose small outputs leave most of the energy to the word counts, which differ between
    captions.
    """
    levels = words.encoder.levels
    energy = _WORDS + _LEVEL_SIZE**2 * levels.out_dim
    keep_size(words.linear, given=sqrt(energy / words.linear.in_features))
