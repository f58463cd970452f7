"""Accuracy of a tagger on sentences with known tags and lemmas."""

from collections.abc import Sequence
from dataclasses import dataclass

from vtr_core.errors import InputError
from vtr_core.text.tagging.tagger import PosTagger
from vtr_core.text.tagging.treebank import Sentence, as_captions
from vtr_core.text.tagging.universal_tags import part_of


@dataclass(frozen=True)
class TaggerAccuracy:
    """Shares of words, in [0, 1]."""

    words: int
    tags: float
    """The universal tag is right."""
    parts: float
    """The part of speech that concepts are made of is right, none counting as one."""
    lemmas: float
    """The lemma is right, in lower case."""
    concepts: float
    """Of the words that have a part of speech: part and lemma are both right."""


@dataclass(frozen=True)
class TreebankAccuracy:
    """Accuracy on the sentences of a treebank as they are, and in the style of captions (see `as_captions`)."""

    sentences: TaggerAccuracy
    captions: TaggerAccuracy


def treebank_accuracy(tagger: PosTagger, sentences: Sequence[Sentence]) -> TreebankAccuracy:
    """Both accuracies of a tagger, with the treebank's tokenisation."""
    return TreebankAccuracy(accuracy(tagger, sentences), accuracy(tagger, list(as_captions(sentences))))


def accuracy(tagger: PosTagger, sentences: Sequence[Sentence]) -> TaggerAccuracy:
    """The accuracy over all words of all sentences; InputError where there are none."""
    tagged = tagger.tag([word.text for word in sentence] for sentence in sentences)
    pairs = [
        (true, found)
        for sentence, caption in zip(sentences, tagged, strict=True)
        for true, found in zip(sentence, caption, strict=True)
    ]
    if not pairs:
        raise InputError("there is no word to measure a tagger on")
    same_part = [part_of(true.pos) == part_of(found.pos) for true, found in pairs]
    same_lemma = [true.lemma.lower() == found.lemma.lower() for true, found in pairs]
    naming = [part_of(true.pos) is not None for true, _ in pairs]
    both = [part and lemma for part, lemma, names in zip(same_part, same_lemma, naming, strict=True) if names]
    return TaggerAccuracy(
        words=len(pairs),
        tags=_share([true.pos == found.pos for true, found in pairs]),
        parts=_share(same_part),
        lemmas=_share(same_lemma),
        concepts=_share(both),
    )


def _share(right: Sequence[bool]) -> float:
    return sum(right) / len(right) if right else 0.0
