"""Tags from a WordNet dictionary: a word's most frequent part of speech, regardless of context."""

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from vtr_core.errors import InputError
from vtr_core.fingerprint import fingerprint, short
from vtr_core.text.tagging.tagger import TaggedWord, TaggerMissing

PARTS = {"NOUN": "noun", "VERB": "verb", "ADJ": "adj", "ADV": "adv"}
"""Universal tag to the suffix of its files, in the order in which ties are decided."""
_SENSE_TYPES = {"1": "NOUN", "2": "VERB", "3": "ADJ", "4": "ADV", "5": "ADJ"}
_COUNTS = ("index.sense", "cntlist.rev", "cntlist")
"""Files with the frequency of each sense; the first one that exists is read."""


@dataclass(frozen=True)
class WordNetDictionary:
    """Lemmas by universal tag, the count of each one's most frequent sense, and irregular forms."""

    lemmas: dict[str, frozenset[str]]
    largest: dict[tuple[str, str], int]
    """(lemma, tag) to the count of its most frequent sense; absent where none was met."""
    exceptions: dict[str, dict[str, tuple[str, ...]]]
    """By tag: irregular form to its lemmas."""
    fingerprint: str


def read_wordnet(folder: str) -> WordNetDictionary:
    """The dictionary in a local folder: index.noun, index.verb, index.adj, index.adv; one of index.sense, cntlist.rev
    and cntlist; the .exc files where there are any.

    Raises TaggerMissing where files are missing, InputError where one is not a WordNet file.
    """
    root = Path(folder).expanduser()
    needed = [root / f"index.{ending}" for ending in PARTS.values()]
    counts = next((root / name for name in _COUNTS if (root / name).is_file()), None)
    missing = [path.name for path in needed if not path.is_file()]
    if missing or counts is None:
        raise TaggerMissing(
            f"{root} is not a WordNet dictionary: it lacks {', '.join(missing) or 'one of ' + ', '.join(_COUNTS)}; "
            "unpack WordNet's database files and give the folder that holds index.noun (often called dict)"
        )
    irregular = [path for ending in PARTS.values() if (path := root / f"{ending}.exc").is_file()]
    digest = hashlib.sha256()
    for path in (*needed, counts, *irregular):
        digest.update(path.name.encode() + b"\0" + path.read_bytes())
    return WordNetDictionary(
        {tag: frozenset(_lemmas(root / f"index.{ending}")) for tag, ending in PARTS.items()},
        _largest(counts),
        {tag: _exceptions(root / f"{ending}.exc") for tag, ending in PARTS.items()},
        digest.hexdigest(),
    )


def _lines(path: Path) -> Iterator[list[str]]:
    """The fields of every line, without the licence at the beginning of a file, whose lines are indented."""
    try:
        with path.open(encoding="utf-8") as lines:
            for line in lines:
                if line.strip() and not line.startswith("  "):
                    yield line.split()
    except UnicodeDecodeError as error:
        raise InputError(f"{path} is not a text file ({error}); give a WordNet dictionary") from error


def _lemmas(path: Path) -> Iterator[str]:
    return (fields[0].lower() for fields in _lines(path))


def _largest(path: Path) -> dict[tuple[str, str], int]:
    """index.sense: key, offset, number, count. cntlist.rev: key, number, count. cntlist: count, key, number."""
    key_at, count_at = (1, 0) if path.name == "cntlist" else (0, -1)
    largest: dict[tuple[str, str], int] = {}
    for fields in _lines(path):
        try:
            lemma, sense = fields[key_at].split("%")
            name, count = (lemma.lower(), _SENSE_TYPES[sense[0]]), int(fields[count_at])
        except (ValueError, IndexError, KeyError) as error:
            raise InputError(f"{path} has the line {' '.join(fields)!r}, which counts no sense") from error
        if count > largest.get(name, 0):
            largest[name] = count
    return largest


def _exceptions(path: Path) -> dict[str, tuple[str, ...]]:
    if not path.is_file():
        return {}
    return {fields[0].lower(): tuple(field.lower() for field in fields[1:]) for fields in _lines(path)}


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
    senses = [(lemma, tag) for tag in PARTS for lemma in candidates(word, tag, dictionary)]
    if not senses:
        return TaggedWord(word, word, UNKNOWN)
    lemma, tag = max(senses, key=lambda key: dictionary.largest.get(key, 0))
    return TaggedWord(word, lemma, tag)


def candidates(word: str, tag: str, dictionary: WordNetDictionary) -> list[str]:
    """Possible lemmas of `word`, irregular ones first; rules are for 3 letters or more that do not end in ss."""
    lemmas = dictionary.lemmas[tag]
    forms = [*dictionary.exceptions[tag].get(word, ()), word]
    if len(word) > 2 and not word.endswith("ss"):
        forms += [word.removesuffix(ending) + other for ending, other in _RULES[tag] if word.endswith(ending)]
    return [lemma for lemma in dict.fromkeys(forms) if lemma in lemmas]
