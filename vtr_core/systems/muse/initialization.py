"""The initial weights of MUSE: those of its blocks, and of its text encoder of words."""

from math import sqrt

from vtr_core.nn.initialization import keep_size
from vtr_core.nn.mamba.initialization import initialize_convolutions, initialize_learner, initialize_pyramid
from vtr_core.nn.mamba.temporal_scale import TemporalScale
from vtr_core.systems.muse.model import EncodedText, Muse, WordTower

_WORDS = 10
"""Assumed number of words of a caption, each with count 1."""
_LEVEL_SIZE = 0.2
"""Assumed size of the values of levels 2 and 3: means of a GRU's outputs and maxima of convolutions."""


def initialize(model: Muse) -> None:
    """Initialises the weights of all linear maps; those of a text encoder of words as in `_words`."""
    if model.pyramid is not None:
        initialize_pyramid(model.pyramid)
    for scale in model.temporal:
        assert isinstance(scale, TemporalScale)
        initialize_convolutions(scale)
    initialize_learner(model.learner)
    match model.words:
        case WordTower():
            _words(model.words)
        case EncodedText() if model.words.linear is not None:
            keep_size(model.words.linear)


def _words(words: WordTower) -> None:
    """Initialises the linear layer such that its output has size 1.

    The encoder below keeps torch's initialisation on purpose: word vectors of size 1, and a GRU and convolutions
    uniform within ±1/√in, whose small outputs leave most of the energy to the word counts, which differ between
    captions.
    """
    levels = words.encoder.levels
    energy = _WORDS + _LEVEL_SIZE**2 * levels.out_dim
    keep_size(words.linear, given=sqrt(energy / words.linear.in_features))
