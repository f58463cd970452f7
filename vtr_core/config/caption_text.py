"""How captions become words, concepts and word vectors, and how concepts are compared."""

from typing import Any, Literal

from vtr_core.config.blocks.text_encoder import TextEncoder
from vtr_core.config.settings import PositiveInt, Probability, Settings

Tokenizer = Literal["words", "alphanumeric"]
"""What cuts a caption into words: runs of letters of any alphabet, digits and apostrophes; or of A–Z, a–z, 0–9."""
TextUnit = Tokenizer | Literal["utf8"]
"""What a caption reaches a model as: its words, or, for a pretrained text encoder with a tokenizer of its own, the
bytes of the text in UTF-8.
"""
UnknownWords = Literal["dropped", "token"]
"""What becomes of words outside the vocabulary: they are dropped, or each one is `<unk>`."""
StopWords = Literal["short", "nltk"]
"""Words that name no concept: our short list of function words, or NLTK's list of 2021."""


class CaptionText(Settings):
    """What a preset asks of its training data; None leaves it open."""

    tokenizer: Tokenizer | None = None
    """What cuts captions into words."""
    min_count: PositiveInt | None = None
    """Occurrences in the training captions that a word needs."""
    unknown: UnknownWords | None = None
    """What becomes of other words."""
    uncut: bool | None = None
    """Whether captions are kept to their last word."""
    tagged: bool | None = None
    """Whether words carry their part of speech, `measure/verb`, by any tagger."""

    @property
    def asked(self) -> dict[str, Any]:
        """What is asked, by name."""
        return self.model_dump(exclude_none=True)


class ConceptText(Settings):
    """What a preset asks of its concept table; None leaves it open."""

    parts: str | None = None
    """Letters of the parts of speech that concepts are, such as n,v,j."""
    pos: bool | None = None
    """Whether a concept's name has its part of speech."""
    stop_words: StopWords | None = None
    """The list of words that name no concept."""

    @property
    def asked(self) -> dict[str, Any]:
        """What is asked, by name."""
        return self.model_dump(exclude_none=True)


PUBLISHED_CAPTIONS = CaptionText(tokenizer="alphanumeric", min_count=5, unknown="token", uncut=True)
"""As the published code of dual encoding makes them (github.com/danieljf24/hybrid_space, util/vocab.py)."""
MSRVTT_CAPTIONS = 20
"""Captions of a video of MSR-VTT. A published epoch is a pass over all captions, ours over all videos."""


ConceptSimilarity = Literal["jaccard", "cosine"]
"""Of a concept space that was trained."""
Comparison = Literal["jaccard", "cosine", "dot"]
"""Also of a pretrained encoder, whose similarity is Σ_i z_i q_i over the concepts that it names."""


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
