"""Lemmas of English words by part of speech: those that a treebank taught (lemmas.json), else by rules."""

import json
from collections.abc import Iterable, Mapping
from collections.abc import Set as AbstractSet
from itertools import pairwise
from pathlib import Path

from spacy.language import Language
from spacy.tokens import Doc

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
