"""Inputs of a model: features and vocabulary of its training data."""

from typing import Annotated

from pydantic import Field

from vtr_core.config.settings import NonNegativeInt, PositiveInt, Settings

Probability = Annotated[float, Field(ge=0.0, lt=1.0)]


class ModelInputs(Settings):
    """Features and vocabulary of the training data, filled in from its manifest when a run starts."""

    features: dict[str, PositiveInt] = Field(default_factory=dict)
    """Feature columns and their dimensions, for instance {"video": 4096, "audio": 1024}."""
    num_words: NonNegativeInt = 0
    """Words in the vocabulary, without the padding id 0."""
    word_dim: PositiveInt = 300
    """Dimension of the word vectors (set to the word-vector file's where one was used)."""
    max_words: PositiveInt = 20
    """Words kept of a caption."""
