"""Caption words to one vector."""

from typing import Literal

from vtr_core.config.model_inputs import Probability
from vtr_core.config.settings import PositiveInt, Settings


class WordEncoderConfig(Settings):
    """Caption words to one vector: word vectors, a linear layer with ReLU, pooling under the padding mask."""

    hidden_dim: PositiveInt = 4096
    """Width of the linear layer."""
    pooling: Literal["max", "mean", "max_mean"] = "max"
    """How words are pooled; `max_mean` is both side by side, twice as wide."""
    word_dropout: Probability = 0.0
    """Share of words dropped in training (never all of a caption)."""
    layer_norm: bool = False
    """Bring every caption's pooled words to mean 0 and deviation 1. Maxima over words are positive and much the same
    for all captions; without this norm that is most of what the next layer sees."""
    dropout: Probability = 0.0
    """Dropout on the pooled words."""
    train_vectors: bool = False
    """Train the word vectors too. A vocabulary without given vectors is always trained."""
