"""How the captions of a data set become words and concepts, and what a preset asks of that."""

from typing import Any, Literal

from vtr_core.config.settings import PositiveInt, Settings

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
