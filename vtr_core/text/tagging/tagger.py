"""What a part-of-speech tagger is: words in, a universal tag and a lemma for each out."""

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
    """Tags captions. What it gives for a caption depends on that caption alone."""

    @property
    def name(self) -> str:
        """Name and version, as shown to people."""
        ...

    @property
    def fingerprint(self) -> str:
        """Equal for taggers that give equal tags: a hash of all that the tags depend on."""
        ...

    def tag(self, captions: Iterable[Sequence[str]]) -> Iterator[list[TaggedWord]]:
        """The tagged words of every caption, in order, one for each of its words. An empty caption gives none."""
        ...
