"""Treebank sentences rewritten in the style of captions: third person, present tense."""

import random
from collections.abc import Iterator

from vtr_core.text.tagging.treebank import Sentence, TreebankWord

_PEOPLE = (
    "a/DET man/NOUN",
    "a/DET woman/NOUN",
    "the/DET man/NOUN",
    "a/DET person/NOUN",
    "a/DET young/ADJ girl/NOUN",
    "the/DET boy/NOUN",
    "a/DET dog/NOUN",
    "a/DET group/NOUN",
    "two/NUM women:woman/NOUN",
    "men:man/NOUN",
    "people:people/NOUN",
    "someone/PRON",
)
_PRESENT = {"was": "is", "were": "are", "did": "does", "had": "has", "have": "has", "am": "is", "'m": "is"}


def as_scene(sentence: Sentence, draw: random.Random) -> list[TreebankWord]:
    """The sentence with a person in place of every subject pronoun, and with finite verbs in the third person.

    Treebanks tell what "I" or "they" did; captions say that "a man talks". Without such examples a tagger takes "talks"
    for a noun. A verb need not agree in number with a subject that was a noun; captions are no more careful.
    """
    return [word for original in sentence for word in _retold(original, draw)]


def _retold(word: TreebankWord, draw: random.Random) -> Iterator[TreebankWord]:
    if word.pos == "PRON" and "Case=Nom" in word.features:
        yield from _somebody(draw.choice(_PEOPLE))
    elif word.pos == "VERB" and "Mood=Ind" in word.features:
        yield word._replace(text=third_person(word.lemma))
    elif word.pos == "AUX":
        yield word._replace(text=_PRESENT.get(word.text.lower(), word.text))
    else:
        yield word


def _somebody(tagged: str) -> Iterator[TreebankWord]:
    for item in tagged.split():
        form, _, tag = item.partition("/")
        text, _, lemma = form.partition(":")
        yield TreebankWord(text, lemma or text, tag)


def third_person(lemma: str) -> str:
    """The third person singular of a verb: "goes", "tries", "talks"."""
    if lemma.endswith(("s", "x", "z", "ch", "sh", "o")):
        return lemma + "es"
    if lemma.endswith("y") and lemma[-2:-1] not in ("a", "e", "o", "u", ""):
        return lemma[:-1] + "ies"
    return {"have": "has", "be": "is"}.get(lemma, lemma + "s")
