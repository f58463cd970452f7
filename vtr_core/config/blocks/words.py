"""Caption words to one vector."""

from typing import Literal

from vtr_core.config.blocks.text_encoder import TextEncoder
from vtr_core.config.model_inputs import Probability
from vtr_core.config.settings import PositiveInt, Settings


class WordEncoderConfig(Settings):
    """Caption words to one vector: word vectors, a linear layer with ReLU, pooling under the padding mask."""

    encoder: TextEncoder = None
    """A pretrained encoder whose vectors of tokens, which are not trained, take the place of word vectors."""
    hidden_dim: PositiveInt = 4096
    """Width of the linear layer."""
    pooling: Literal["max", "mean", "max_mean"] = "max"
    """Pooling over words; `max_mean` concatenates both, twice as wide."""
    word_dropout: Probability = 0.0
    """Share of words dropped in training (never all of a caption)."""
    layer_norm: bool = False
    """Apply LayerNorm to the pooled words. Maxima over words are positive and similar for all captions; without the
    norm they dominate the input of the next layer."""
    dropout: Probability = 0.0
    """Dropout on the pooled words."""
    train_vectors: bool = False
    """Train the word vectors too. A vocabulary without given vectors is always trained."""
