"""Lemmas by WordNet's rules and exceptions, and its nouns, verbs and adjectives."""

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from pathlib import Path

from spacy.language import Language
from spacy.tokens import Doc

from vtr_core.errors import InputError
from vtr_core.fingerprint import fingerprint, short
from vtr_core.storage import local_path
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
    root = Path(local_path(folder))
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
        {
            tag: frozenset(fields[0].lower() for fields in _lines(root / f"index.{ending}"))
            for tag, ending in PARTS.items()
        },
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


_VOWELS = frozenset("aeiou")
_SOUNDS = frozenset("aeiouy")
_VERBS = (
    "eat ate; bend bent; bite bit bitten; blow blew blown; breed bred; cling clung; creep crept; drink drank; "
    "draw drew drawn; drive drove driven; dig dug; feed fed; fly flew flown; fling flung; fight fought; "
    "freeze froze frozen; hide hid hidden; hang hung; kneel knelt; lay laid; leap leapt; light lit; ring rang; "
    "ride rode ridden; rise risen rose; sing sang sung; sink sank sunk; shake shook shaken; shine shone; "
    "shoot shot; shrink shrank; sleep slept; slide slid; speed sped; spin spun; spring sprang; "
    "steal stole stolen; strike struck; stick stuck; sting stung; swim swam swum; sweep swept; swing swung; "
    "throw threw thrown; tear tore torn; wake woke; weave woven wove; weep wept; win won; wear wore worn; "
    "wind wound; wring wrung"
)
_IRREGULAR = {form: verb.split()[0] for verb in _VERBS.split("; ") for form in verb.split()[1:]}
"""Irregular verbs that captions use and a treebank may lack."""
_SIBILANTS = ("s", "x", "z", "ch", "sh", "o")
_SILENT_E = (*("c", "v", "z", "u"), *("rg", "dg", "rs"), *("ul", "ur", "ir", "ar", "id", "ud", "at", "as"))
"""Endings of polysyllabic stems that are usually followed by a silent e: "celebrat", "prepar", "nurs"."""


def lemma_by_rule(form: str, tag: str, own: AbstractSet[str], of_any_tag: AbstractSet[str]) -> str:
    """The lemma of a lower-case word with a universal tag; `own`: known lemmas of this tag, `of_any_tag`: of all tags.

    It is the first candidate in `own`, else the first in `of_any_tag` (such as the noun "skateboard" for the verb
    "skateboarding"), else the likeliest candidate. A known lemma is its own lemma, and so is a word that cannot be
    inflected.
    """
    candidates = _candidates(form, tag)
    if form in own or not candidates:
        return form
    for lemmas in (own, of_any_tag):
        for candidate in candidates:
            if candidate in lemmas:
                return candidate
    return form if tag in ("ADJ", "ADV") else candidates[0]


def _candidates(form: str, tag: str) -> list[str]:
    """Possible lemmas, the likeliest first; none where the word does not look inflected."""
    match tag:
        case "NOUN" | "PROPN":
            return _singular(form)
        case "VERB" | "AUX":
            for ending in ("ing", "ed"):
                stem = form.removesuffix(ending)
                if stem != form and len(stem) > 1 and not _SOUNDS.isdisjoint(stem):
                    return _verb(stem, ending)
            return [_IRREGULAR[form]] if form in _IRREGULAR else _singular(form)
        case "ADJ" | "ADV":
            for ending in ("er", "est"):
                stem = form.removesuffix(ending)
                if stem != form and len(stem) > 1:
                    return [stem[:-1] + "y", *_stems(stem)] if stem.endswith("i") else _stems(stem)
            return []
        case _:
            return []


def _verb(stem: str, ending: str) -> list[str]:
    """Lemmas of a verb that ends in -ing or -ed."""
    if ending == "ed" and stem.endswith("i"):
        return [stem[:-1] + "y"]
    if ending == "ing" and stem.endswith("y") and len(stem) == 2:
        return [stem[:-1] + "ie"]  # tying
    return _stems(stem)


def _singular(form: str) -> list[str]:
    """Candidates without the -s of the plural or of the third person."""
    if form.endswith("men") and len(form) > 3:
        return [form[:-2] + "an"]
    if not form.endswith("s") or form.endswith(("ss", "us", "is")) or len(form) < 3:
        return []
    if len(form) == 3 and form[1] in _VOWELS:
        return []  # "gas" has no plural -s, "tvs" has
    if form.endswith("ies"):
        return [form[:-3] + "y", form[:-1]] if len(form) > 4 else [form[:-1]]
    if form.endswith("es") and form[:-2].endswith(_SIBILANTS):
        short, long = form[:-2], form[:-1]
        return [short, long] if short.endswith(("ss", "x", "ch", "sh", "o", "zz")) else [long, short]
    return [form[:-1]]


def _stems(stem: str) -> list[str]:
    """Candidates for the stem before -ing, -ed, -er: with a silent e, with one consonant of two, or as it is."""
    doubled = len(stem) > 2 and stem[-1] == stem[-2] and stem[-1] not in _VOWELS
    if doubled:
        return [stem, stem[:-1]] if stem[-1] in "lsfz" else [stem[:-1], stem]
    return [stem + "e", stem] if _wants_e(stem) else [stem, stem + "e"]


def _wants_e(stem: str) -> bool:
    """Whether a stem is likelier with a silent e than without."""
    if stem[-1] in _VOWELS:
        return stem[-1] == "u"
    if stem[-1] == "l" and len(stem) > 2 and stem[-2] not in _VOWELS and stem[-2] not in "rlw":
        return True  # wrestl, juggl
    groups = "".join("v" if letter in (_SOUNDS if place else _VOWELS) else "c" for place, letter in enumerate(stem))
    syllables = sum(a == "v" and b == "c" for a, b in pairwise(groups))
    if syllables == 1:  # bak, rid: without the e the consonant would be doubled
        return (
            stem.endswith(("c", "v", "z", "dg", "rg", "rs", "ns"))
            or (groups.endswith("cvc") and "vv" not in groups and stem[-1] not in "wxy")
            or groups == "vc"
        )
    return stem.endswith(_SILENT_E) and not groups.endswith("vvc")


FACTORY = "vtr_lemmatiser"
FILE = "lemmas.json"
LEMMA_RULES = 1
"""Version of the rules, raised whenever they give other lemmas."""


class Lemmatiser:
    """A spaCy component: sets the lemma of every word of a document from its lower-case form and its universal tag."""

    def __init__(
        self, known: Mapping[str, Iterable[str]] | None = None, irregular: Mapping[str, Mapping[str, str]] | None = None
    ) -> None:
        """`known`: lemmas by tag; `irregular`: by tag, the forms whose lemma is not that of the rules."""
        self._set(known or {}, irregular or {})

    def _set(self, known: Mapping[str, Iterable[str]], irregular: Mapping[str, Mapping[str, str]]) -> None:
        self._known = {tag: frozenset(lemmas) for tag, lemmas in known.items()}
        self._any_tag = frozenset[str]().union(*self._known.values())
        self._irregular = {tag: dict(forms) for tag, forms in irregular.items()}
        self._cache: dict[tuple[str, str], str] = {}

    def lemma(self, form: str, tag: str) -> str:
        """The lemma of a lower-case word; looked up once, since captions consist of few different words."""
        lemma = self._cache.get((form, tag))
        if lemma is None:
            irregular = self._irregular.get(tag, {}).get(form)
            lemma = irregular or lemma_by_rule(form, tag, self._known.get(tag, frozenset()), self._any_tag)
            self._cache[form, tag] = lemma
        return lemma

    def __call__(self, doc: Doc) -> Doc:
        """Set the lemmas of a tagged document."""
        for token in doc:
            token.lemma_ = self.lemma(token.lower_, token.pos_)
        return doc

    def from_disk(self, path: Path, exclude: Iterable[str] = ()) -> "Lemmatiser":  # noqa: ARG002
        """Read lemmas.json."""
        value = json.loads((path / FILE).read_text(encoding="utf-8"))
        self._set(value["known"], value["irregular"])
        return self


Language.factory(FACTORY, assigns=["token.lemma"], requires=["token.pos"], func=lambda nlp, name: Lemmatiser())  # noqa: ARG005
