"""The interface of a part-of-speech tagger: words in, a universal tag and a lemma for each out."""

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple, Protocol, runtime_checkable

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
