"""Tags from NLTK's averaged perceptron, whose weights are JSON files that a user has downloaded."""

import hashlib
import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from vtr_core.errors import InputError
from vtr_core.fingerprint import fingerprint
from vtr_core.text.tagging.lemmatiser import FILE, LEMMA_RULES, Lemmatiser
from vtr_core.text.tagging.spacy_tagger import SHIPPED
from vtr_core.text.tagging.tagger import TaggedWord, TaggerMissing
from vtr_core.text.tagging.treetagger import universal_tag as treebank_tag

_FILES = tuple(f"averaged_perceptron_tagger_eng.{part}.json" for part in ("weights", "tagdict", "classes"))
_RESOURCE = "taggers/averaged_perceptron_tagger_eng"


@dataclass(frozen=True)
class NltkTagger:
    """NLTK's English tagger; lemmas are those of the lemmatiser of this package."""

    folder: str
    """Of the three JSON files; empty: where NLTK itself looks for them."""

    @property
    def name(self) -> str:
        """NLTK's version and the model's name."""
        import nltk

        return f"NLTK {nltk.__version__} averaged_perceptron_tagger_eng"

    @cached_property
    def fingerprint(self) -> str:
        """Fingerprint of the model's files, the lemmas and their rules."""
        places = [*(self._place / name for name in _FILES), SHIPPED / "lemmatiser" / FILE]
        return fingerprint(["nltk/1", LEMMA_RULES, *(hashlib.sha256(one.read_bytes()).hexdigest() for one in places)])

    def tag(self, captions: Iterable[Sequence[str]]) -> Iterator[list[TaggedWord]]:
        """See PosTagger."""
        for caption in captions:
            yield [self._tagged(word, tag) for word, tag in self._perceptron.tag(list(caption))]

    def _tagged(self, word: str, tag: str) -> TaggedWord:
        universal = universal_tag(tag)
        return TaggedWord(word, self._lemmatiser.lemma(word.lower(), universal), universal)

    @cached_property
    def _place(self) -> Path:
        return model_folder(self.folder)

    @cached_property
    def _perceptron(self) -> Any:
        from nltk.tag.perceptron import PerceptronTagger

        tagger = PerceptronTagger(load=False)
        weights, tagger.tagdict, classes = (_read(self._place / name) for name in _FILES)
        tagger.classes = set(classes)
        tagger.model.weights, tagger.model.classes = weights, tagger.classes
        return tagger

    @cached_property
    def _lemmatiser(self) -> Lemmatiser:
        return Lemmatiser().from_disk(SHIPPED / "lemmatiser")


def model_folder(folder: str) -> Path:
    """The folder of the model's files: `folder`, or found on NLTK's data path; TaggerMissing without files."""
    if find_spec("nltk") is None:
        raise TaggerMissing("NLTK is not installed; pip install 'vtr-ray[nltk]', or use another tagger")
    place = Path(folder).expanduser() if folder else _in_data_path()
    lacking = [name for name in _FILES if place is None or not (place / name).is_file()]
    if place is not None and not lacking:
        return place
    raise TaggerMissing(
        f"NLTK's tagger is not in {place or 'its data path (NLTK_DATA)'}: {', '.join(lacking)} are needed; download "
        "averaged_perceptron_tagger_eng with NLTK's downloader, or give the folder of its files as nltk:FOLDER"
    )


def universal_tag(tag: str) -> str:
    """The universal tag of a Penn Treebank tag; all verbs except modals are VERB, including be and have."""
    return "VERB" if tag.startswith("VB") else treebank_tag(tag)


def _in_data_path() -> Path | None:
    import nltk.data

    try:
        return Path(str(nltk.data.find(_RESOURCE)))
    except LookupError:
        return None


def _read(place: Path) -> Any:
    try:
        value = json.loads(place.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise InputError(f"{place} cannot be read ({error}); download NLTK's tagger again") from error
    wanted = list if place.name.endswith("classes.json") else dict
    if not isinstance(value, wanted) or (wanted is list and not value):
        what = "list of tags" if wanted is list else "table"
        raise InputError(f"{place} holds no {what}; download NLTK's tagger again")
    return value
