"""Parts of speech: the universal tags that taggers give, and the six parts that concepts are made of."""

from enum import StrEnum

from vtr_core.errors import ConfigError

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
    wanted = [letter.strip() for letter in letters.split(",") if letter.strip()]
    known = {part.letter: part for part in Part}
    unknown = [letter for letter in wanted if letter not in known]
    if unknown or not wanted:
        shown = ", ".join(f"{letter} {part}" for letter, part in known.items())
        raise ConfigError(f"parts {letters!r}: there is no {', '.join(unknown) or 'letter'}; give some of {shown}")
    return tuple(part for part in Part if part.letter in wanted)
