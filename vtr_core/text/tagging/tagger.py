"""Part-of-speech taggers: the interface, universal tags and parts, and the choice of one by name."""

from collections.abc import Iterable, Iterator, Sequence
from enum import StrEnum
from typing import Any, NamedTuple, Protocol, runtime_checkable

from vtr_core.errors import ConfigError


class TaggerMissing(ConfigError):
    """A tagger is not installed, or not where it was said to be."""


class TaggedWord(NamedTuple):
    """A word of a caption with its lemma and its universal tag, such as ("dogs", "dog", "NOUN")."""

    text: str
    lemma: str
    pos: str


@runtime_checkable
class PosTagger(Protocol):
    """Tags captions, each independently of the others."""

    @property
    def name(self) -> str:
        """Name and version, as shown to people."""
        ...

    @property
    def fingerprint(self) -> str:
        """A hash of everything that the tags depend on, equal for taggers that give equal tags."""
        ...

    def tag(self, captions: Iterable[Sequence[str]]) -> Iterator[list[TaggedWord]]:
        """The tagged words of every caption, in order, one for each of its words. An empty caption gives none."""
        ...


_TAGS = "ADJ ADP ADV AUX CCONJ DET INTJ NOUN NUM PART PRON PROPN PUNCT SCONJ SYM VERB X"
UNIVERSAL_TAGS = frozenset(_TAGS.split())
"""The tags of Universal Dependencies, version 2."""


class Part(StrEnum):
    """A part of speech that may name a concept. Its value is what a tagged concept ends in: `measure/verb`."""

    NOUN = "noun"
    VERB = "verb"
    ADJECTIVE = "adjective"
    ADVERB = "adverb"
    PREPOSITION = "preposition"
    CONJUNCTION = "conjunction"

    @property
    def letter(self) -> str:
        """The letter on the command line: n, v, j, a, p or c."""
        return "j" if self is Part.ADJECTIVE else self.value[0]


_PARTS = {
    "NOUN": Part.NOUN,
    "PROPN": Part.NOUN,
    "VERB": Part.VERB,
    "ADJ": Part.ADJECTIVE,
    "ADV": Part.ADVERB,
    "ADP": Part.PREPOSITION,
    "CCONJ": Part.CONJUNCTION,
    "SCONJ": Part.CONJUNCTION,
}


def part_of(tag: str) -> Part | None:
    """The part of speech of a universal tag; None for tags that name no concept: auxiliaries, pronouns, numbers, …

    Names of people and places count as nouns: captions in lower case do not tell them apart.
    """
    return _PARTS.get(tag)


def parse_parts(letters: str) -> tuple[Part, ...]:
    """The parts of speech of letters such as "n,v,j", each once, in the order of `Part`.

    Raises ConfigError for an unknown letter or for none at all.
    """
    chosen = [letter.strip() for letter in letters.split(",") if letter.strip()]
    known = {part.letter: part for part in Part}
    unknown = [letter for letter in chosen if letter not in known]
    if unknown or not chosen:
        shown = ", ".join(f"{letter} {part}" for letter, part in known.items())
        raise ConfigError(f"parts {letters!r}: there is no {', '.join(unknown) or 'letter'}; give some of {shown}")
    return tuple(part for part in Part if part.letter in chosen)


CHOICES = "default, spacy:NAME or spacy:FOLDER, wordnet:FOLDER, treetagger:FOLDER"


def choose_tagger(choice: str, processes: int = 1) -> PosTagger:
    """The tagger that `choice` names: one of CHOICES.

    `default` is the spaCy pipeline that comes with this package; `processes` is the number of processes of a spaCy
    pipeline. The tagger's files are read here: raises TaggerMissing where they do not exist.
    """
    kind, _, place = choice.partition(":")
    match kind:
        case "default" if not place:
            from vtr_core.text.tagging.spacy_tagger import shipped_tagger

            return _present(shipped_tagger(processes))
        case "spacy" if place:
            from vtr_core.text.tagging.spacy_tagger import SpacyTagger

            return _present(SpacyTagger(place, processes))
        case "wordnet" if place:
            from vtr_core.text.tagging.lemmatiser import WordNetTagger

            return _present(WordNetTagger(place))
        case "treetagger":
            from vtr_core.text.tagging.treetagger import TreeTagger

            return _present(TreeTagger(place))
        case _:
            raise ConfigError(f"there is no tagger {choice!r}; give one of {CHOICES}")


def _present(tagger: Any) -> PosTagger:
    """`tagger`, after reading its fingerprint and name, which need its files."""
    assert tagger.fingerprint
    assert tagger.name
    return tagger
