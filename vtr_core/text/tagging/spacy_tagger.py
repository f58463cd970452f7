"""Tags from a spaCy pipeline: one that is installed, one in a folder, or the one that comes with this package."""

import hashlib
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import spacy
from spacy.language import Language
from spacy.tokens import Doc

from vtr_core.errors import InputError
from vtr_core.fingerprint import fingerprint
from vtr_core.storage import local_path
from vtr_core.text.tagging.lemmatiser import LEMMA_RULES  # importing it registers a component of our pipelines
from vtr_core.text.tagging.tagger import TaggedWord, TaggerMissing

SHIPPED = Path(__file__).parent / "tagger_en_ewt"
"""The pipeline of this package, trained on the English Web Treebank."""
_NOT_NEEDED = ("parser", "ner", "senter", "textcat", "textcat_multilabel", "entity_linker", "spancat")
_BATCH = 512
_FOREIGN = re.compile(r'@\w+\s*=\s*"[^"]*(torch|tensorflow|mxnet)[^"]*"', re.IGNORECASE)
"""Layers of other frameworks bring files of their own, in formats that may hold code."""


@dataclass(frozen=True)
class SpacyTagger:
    """A spaCy pipeline by the name of an installed one or by its folder. It tags given words and does not tokenise."""

    pipeline: str
    processes: int = 1

    @property
    def name(self) -> str:
        """spaCy's version, the pipeline's name and version."""
        meta = self._language.meta
        return f"spaCy {spacy.__version__} {meta['lang']}_{meta['name']} {meta['version']}"

    @cached_property
    def fingerprint(self) -> str:
        """Fingerprint of the pipeline's files and of our lemmatiser's rules."""
        return fingerprint(["spacy/1", LEMMA_RULES, _digest(pipeline_folder(self.pipeline))])

    def tag(self, captions: Iterable[Sequence[str]]) -> Iterator[list[TaggedWord]]:
        """See PosTagger. Lemmas are in lower case; a word without one is its own lemma."""
        language = self._language
        docs = (Doc(language.vocab, words=list(caption)) for caption in captions)
        for doc in language.pipe(docs, batch_size=_BATCH, n_process=self.processes):
            yield [TaggedWord(token.text, token.lemma_.lower() or token.text, token.pos_ or "X") for token in doc]

    @cached_property
    def _language(self) -> Language:
        return load_pipeline(self.pipeline)


def shipped_tagger(processes: int = 1) -> SpacyTagger:
    """The tagger that comes with this package."""
    return SpacyTagger(str(SHIPPED), processes)


def load_pipeline(pipeline: str) -> Language:
    """The spaCy pipeline of that name or folder, without components that tags and lemmas do not need.

    Raises TaggerMissing where it does not exist, InputError where it is damaged, was made for another version of spaCy,
    or gives no tags and lemmas.
    """
    folder = pipeline_folder(pipeline)
    try:
        config = (folder / "config.cfg").read_text(encoding="utf-8")
        if _FOREIGN.search(config):
            raise InputError(f"{folder} has layers of another framework than spaCy's own; give a pipeline without them")
        language = spacy.load(folder, exclude=_NOT_NEEDED)
        doc = language(Doc(language.vocab, words=["a", "dog", "runs"]))
    except InputError:
        raise
    except Exception as error:  # spaCy raises many kinds of errors for files that are not its own
        raise InputError(f"the spaCy pipeline {folder} cannot be loaded ({type(error).__name__}: {error})") from error
    missing = [annotation for annotation in ("POS", "LEMMA") if not doc.has_annotation(annotation)]
    if missing:
        raise InputError(
            f"the spaCy pipeline {folder} gives no {' and no '.join(missing)} (its components: "
            f"{', '.join(language.pipe_names) or 'none'}); give one with a tagger and a lemmatizer"
        )
    return language


def pipeline_folder(pipeline: str) -> Path:
    """The folder with the config.cfg of a pipeline, given by folder or by the name of an installed one."""
    folder = Path(local_path(pipeline))
    if (folder / "config.cfg").is_file():
        return folder
    if spacy.util.is_package(pipeline):
        package = spacy.util.get_package_path(pipeline)
        inner = sorted(path.parent for path in package.rglob("config.cfg"))
        if inner:
            return inner[0]
    known = ", ".join(sorted(spacy.util.get_installed_models())) or "none"
    raise TaggerMissing(
        f"there is no spaCy pipeline {pipeline!r}: it is neither installed nor a folder with a config.cfg; installed: "
        f"{known}; pip install one, such as en_core_web_sm from spaCy's releases, or leave out --tagger for the tagger "
        "that comes with vtr"
    )


def _digest(folder: Path) -> str:
    """sha256 of names and contents of all files of a pipeline but its description."""
    digest = hashlib.sha256()
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder).as_posix()
        if path.is_file() and "__pycache__" not in name and path.suffix not in (".md", ".py"):
            content = path.read_bytes()
            digest.update(f"{name}\0{len(content)}\0".encode() + content)
    return digest.hexdigest()
