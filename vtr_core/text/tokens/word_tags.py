"""Words with their part of speech, `measure/verb`, as the text encoder of the thesis reads them (section 3.2.2.2)."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from vtr_core.errors import DatasetError

if TYPE_CHECKING:
    from vtr_core.text.tagging.tagger import PosTagger


@dataclass(frozen=True)
class WordTags:
    """The tagger of a vocabulary's words: its name on the command line, and its fingerprint."""

    tagger: str
    """default, spacy:NAME, wordnet:FOLDER, …"""
    fingerprint: str

    @classmethod
    def of(cls, choice: str) -> "WordTags":
        """The tags of an installed tagger; ConfigError where it is missing."""
        return cls(choice, _tagger(choice).fingerprint)

    def tagged(self, captions: Iterable[Sequence[str]]) -> Iterator[list[str]]:
        """The words of every caption as `word/part`: noun, verb, adjective, adverb, preposition or conjunction.

        A word of another part (articles, pronouns, auxiliaries, numbers) stays as it is. Raises DatasetError where the
        installed tagger gives other tags than the one that made the vocabulary, ConfigError where there is none.
        """
        from vtr_core.text.tagging.universal_tags import part_of

        tagger = _tagger(self.tagger)
        if tagger.fingerprint != self.fingerprint:
            raise DatasetError(
                f"the words were tagged by another {self.tagger} than the one here, {tagger.name}; restore that "
                "tagger, or make the data set anew with vtr ingest … --tagger and train on it"
            )
        for words in tagger.tag(captions):
            yield [f"{word.text}/{part}" if (part := part_of(word.pos)) else word.text for word in words]


def bare_word(word: str) -> str:
    """A word without its part of speech."""
    return word.partition("/")[0]


@lru_cache(maxsize=4)
def _tagger(choice: str) -> "PosTagger":
    from vtr_core.text.tagging.choice import choose_tagger

    return choose_tagger(choice)
