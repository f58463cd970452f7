"""Concepts of captions: those that a caption names, those that are kept for a video, and their frequencies."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from vtr_core.config.caption_text import StopWords
from vtr_core.text.tagging.tagger import TaggedWord
from vtr_core.text.tagging.universal_tags import Part, part_of
from vtr_core.text.tokens.nltk_stop_words import is_no_nltk_stop_word
from vtr_core.text.tokens.stop_words import is_concept

_PIECES = "don doesn didn isn aren wasn weren hasn haven hadn wouldn couldn shouldn ll re ve"
_CUT_CONTRACTIONS = frozenset(_PIECES.split())
"""What cleaning leaves of function words such as "don't"."""


@dataclass(frozen=True)
class ConceptSettings:
    """Which words are concepts."""

    parts: tuple[Part, ...] = (Part.NOUN, Part.VERB, Part.ADJECTIVE)
    pos: bool = False
    """Whether the part of speech belongs to a concept's name: `measure/verb` and `measure/noun`, or `measure`."""
    stop_words: StopWords = "short"
    """The list of words that name no concept. NLTK's leaves prepositions such as `near` and `across`."""


def caption_concepts(caption: Iterable[TaggedWord], settings: ConceptSettings) -> list[str]:
    """The concepts that a caption names, each once, in the order of its words.

    A word is a concept if its part of speech is one of `settings.parts` and neither it nor its lemma is a stop word or,
    with our own list, has fewer than two letters. The concept's name is the lemma.
    """
    found: dict[str, None] = {}
    is_named = _names_something if settings.stop_words == "short" else is_no_nltk_stop_word
    for word in caption:
        part = part_of(word.pos)
        if part in settings.parts and is_named(word.text) and is_named(word.lemma):
            found[f"{word.lemma}/{part}" if settings.pos else word.lemma] = None
    return list(found)


def _names_something(word: str) -> bool:
    return is_concept(word) and word not in _CUT_CONTRACTIONS


def kept_counts(captions: Iterable[Sequence[str]], min_captions: int) -> dict[str, int]:
    """The concepts named by at least `min_captions` of a video's captions, with the number of captions that name each.

    captions: the distinct concepts of each caption. The result is in the order of first occurrence.
    """
    counts = Counter(concept for caption in captions for concept in caption)
    return {concept: count for concept, count in counts.items() if count >= min_captions}


def frequencies(kept: Iterable[Mapping[str, int]]) -> dict[str, int]:
    """The sum of every concept's kept counts over all videos, in the order of first occurrence."""
    total: Counter[str] = Counter()
    for counts in kept:
        total.update(counts)
    return dict(total)


def ranked(total: Mapping[str, int]) -> tuple[str, ...]:
    """The concepts by descending frequency; of equally frequent ones the one that occurred first comes first.

    The vocabulary of K concepts is the first K.
    """
    return tuple(sorted(total, key=lambda concept: -total[concept]))
