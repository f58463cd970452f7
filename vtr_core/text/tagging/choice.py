"""Taggers by the names that the command line takes."""

from typing import Any

from vtr_core.errors import ConfigError
from vtr_core.text.tagging.tagger import PosTagger

CHOICES = "default, spacy:NAME or spacy:FOLDER, wordnet:FOLDER, treetagger:FOLDER, nltk or nltk:FOLDER"


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
            from vtr_core.text.tagging.wordnet import WordNetTagger

            return _present(WordNetTagger(place))
        case "treetagger":
            from vtr_core.text.tagging.treetagger import TreeTagger

            return _present(TreeTagger(place))
        case "nltk":
            from vtr_core.text.tagging.nltk_tagger import NltkTagger

            return _present(NltkTagger(place))
        case _:
            raise ConfigError(f"there is no tagger {choice!r}; give one of {CHOICES}")


def _present(tagger: Any) -> PosTagger:
    """`tagger`, after reading its fingerprint and name, which need its files."""
    assert tagger.fingerprint
    assert tagger.name
    return tagger
