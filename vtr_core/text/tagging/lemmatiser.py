"""Lemmas of English words by their part of speech: looked up in what a treebank taught, else by spelling rules.

The same word with the same tag always has the same lemma, so that a concept is not split up.
"""

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path

from spacy.language import Language
from spacy.tokens import Doc

from vtr_core.text.tagging.lemma_rules import lemma_by_rule
from vtr_core.text.tagging.treebank import Sentence

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
        self._known = {tag: frozenset(lemmas) for tag, lemmas in (known or {}).items()}
        self._others = frozenset[str]().union(*self._known.values())
        self._irregular = {tag: dict(forms) for tag, forms in (irregular or {}).items()}
        self._found: dict[tuple[str, str], str] = {}

    @classmethod
    def from_treebank(cls, sentences: Iterable[Sentence]) -> "Lemmatiser":
        """A lemmatiser that knows the sentences' lemmas and, as irregular forms, those that its rules get wrong.

        Where a form occurs with several lemmas the most frequent one counts.
        """
        counts: dict[tuple[str, str], Counter[str]] = {}
        for sentence in sentences:
            for word in sentence:
                counts.setdefault((word.pos, word.text.lower()), Counter())[word.lemma.lower()] += 1
        usual = {key: found.most_common(1)[0][0] for key, found in counts.items()}
        known: dict[str, set[str]] = {}
        for (tag, _), lemma in usual.items():
            known.setdefault(tag, set()).add(lemma)
        made = cls(known)
        irregular: dict[str, dict[str, str]] = {}
        for (tag, form), lemma in usual.items():
            if made.lemma(form, tag) != lemma:
                irregular.setdefault(tag, {})[form] = lemma
        return cls(known, irregular)

    def lemma(self, form: str, tag: str) -> str:
        """The lemma of a lower-case word; looked up once, since captions consist of few different words."""
        found = self._found.get((form, tag))
        if found is None:
            irregular = self._irregular.get(tag, {}).get(form)
            found = irregular or lemma_by_rule(form, tag, self._known.get(tag, frozenset()), self._others)
            self._found[form, tag] = found
        return found

    def __call__(self, doc: Doc) -> Doc:
        """Set the lemmas of a tagged document."""
        for token in doc:
            token.lemma_ = self.lemma(token.lower_, token.pos_)
        return doc

    def to_disk(self, path: Path, exclude: Iterable[str] = ()) -> None:  # noqa: ARG002  (spaCy gives it)
        """Write lemmas.json."""
        path.mkdir(parents=True, exist_ok=True)
        value = {"known": {tag: sorted(lemmas) for tag, lemmas in self._known.items()}, "irregular": self._irregular}
        (path / FILE).write_text(json.dumps(value, sort_keys=True, ensure_ascii=False) + "\n", encoding="utf-8")

    def from_disk(self, path: Path, exclude: Iterable[str] = ()) -> "Lemmatiser":  # noqa: ARG002
        """Read lemmas.json."""
        value = json.loads((path / FILE).read_text(encoding="utf-8"))
        return self.from_lemmatiser(Lemmatiser(value["known"], value["irregular"]))

    def from_lemmatiser(self, other: "Lemmatiser") -> "Lemmatiser":
        """Copy the tables of another lemmatiser."""
        self._known, self._others, self._irregular = other._known, other._others, other._irregular  # noqa: SLF001
        self._found = {}
        return self


Language.factory(FACTORY, assigns=["token.lemma"], requires=["token.pos"], func=lambda nlp, name: Lemmatiser())  # noqa: ARG005
