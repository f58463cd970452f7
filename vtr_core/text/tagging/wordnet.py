"""Tags from a WordNet dictionary: the most frequent part of speech of a word, regardless of context."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from vtr_core.fingerprint import fingerprint, short
from vtr_core.text.tagging.tagger import TaggedWord
from vtr_core.text.tagging.wordnet_dictionary import PARTS, WordNetDictionary, read_wordnet

UNKNOWN = "X"
_RULES = {
    "NOUN": (
        ("s", ""),
        ("ses", "s"),
        ("xes", "x"),
        ("zes", "z"),
        ("ches", "ch"),
        ("shes", "sh"),
        ("men", "man"),
        ("ies", "y"),
    ),
    "VERB": (("s", ""), ("ies", "y"), ("es", "e"), ("es", ""), ("ed", "e"), ("ed", ""), ("ing", "e"), ("ing", "")),
    "ADJ": (("er", ""), ("est", ""), ("er", "e"), ("est", "e")),
    "ADV": (),
}
"""WordNet's suffix rules (morphy): the suffix that is removed, and what replaces it."""


@dataclass(frozen=True)
class WordNetTagger:
    """The part of speech of a word's most frequent sense, and the lemma that has this sense.

    The candidates of each part of speech are the word's irregular lemmas, the word itself, and the results of WordNet's
    suffix rules, as far as they are in the dictionary. Ties go to nouns, verbs, adjectives, adverbs in this order, then
    to the first candidate. A word without a candidate gets the tag X and is its own lemma: WordNet has no prepositions,
    pronouns or conjunctions, and lists few of them as something else ("in" is a noun, the inch).
    """

    folder: str
    """Of the dictionary, on this machine."""

    @property
    def name(self) -> str:
        """WordNet, with a short form of the dictionary's fingerprint."""
        return f"WordNet {short(self._dictionary.fingerprint)}"

    @cached_property
    def fingerprint(self) -> str:
        """Fingerprint of the dictionary's files and the rules."""
        return fingerprint(["wordnet/1", self._dictionary.fingerprint])

    def tag(self, captions: Iterable[Sequence[str]]) -> Iterator[list[TaggedWord]]:
        """See PosTagger."""
        known: dict[str, TaggedWord] = {}
        for caption in captions:
            for word in caption:
                if word not in known:
                    known[word] = most_frequent(word, self._dictionary)
            yield [known[word] for word in caption]

    @cached_property
    def _dictionary(self) -> WordNetDictionary:
        return read_wordnet(self.folder)


def most_frequent(word: str, dictionary: WordNetDictionary) -> TaggedWord:
    """The tag and lemma of the word's most frequent sense."""
    found = [(lemma, tag) for tag in PARTS for lemma in candidates(word, tag, dictionary)]
    if not found:
        return TaggedWord(word, word, UNKNOWN)
    lemma, tag = max(found, key=lambda sense: dictionary.largest.get(sense, 0))
    return TaggedWord(word, lemma, tag)


def candidates(word: str, tag: str, dictionary: WordNetDictionary) -> list[str]:
    """Possible lemmas of `word`, irregular ones first; rules are for 3 letters or more that do not end in ss."""
    lemmas = dictionary.lemmas[tag]
    found = [*dictionary.exceptions[tag].get(word, ()), word]
    if len(word) > 2 and not word.endswith("ss"):
        found += [word.removesuffix(ending) + other for ending, other in _RULES[tag] if word.endswith(ending)]
    return [lemma for lemma in dict.fromkeys(found) if lemma in lemmas]
