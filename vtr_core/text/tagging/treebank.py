"""Sentences of a treebank in CoNLL-U, as they are and in the style of captions."""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from vtr_core.errors import InputError
from vtr_core.text.tagging.universal_tags import UNIVERSAL_TAGS
from vtr_core.text.tokens.cleaning import clean_words

_FIELDS = 10
_NONE = "_"


class TreebankWord(NamedTuple):
    """A word with its true tag and lemma, and its further features as the treebank writes them."""

    text: str
    lemma: str
    pos: str
    features: str = ""


Sentence = Sequence[TreebankWord]


def treebank_file(folder: str, part: str) -> Path:
    """The one file of a treebank's folder that ends in -`part`.conllu; InputError unless there is exactly one."""
    found = sorted(Path(folder).expanduser().glob(f"*-{part}.conllu"))
    if len(found) != 1:
        shown = ", ".join(path.name for path in found) or "none"
        raise InputError(
            f"{folder} has {shown} for its {part} part; give the folder of a Universal Dependencies treebank, with one "
            f"file …-{part}.conllu"
        )
    return found[0]


def read_conllu(path: Path) -> list[list[TreebankWord]]:
    """The sentences of a CoNLL-U file: its syntactic words; ranges (1-2) and empty nodes (8.1) are left out.

    A word without a lemma is its own lemma. Raises InputError for a malformed line, or where there is no sentence.
    """
    sentences: list[list[TreebankWord]] = [[]]
    try:
        lines = path.read_text(encoding="utf-8-sig").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path} cannot be read ({error}); give a CoNLL-U file") from error
    for number, line in enumerate(lines, 1):
        if not line.strip():
            sentences.append([])
        elif not line.startswith("#"):
            sentences[-1] += _word(line, f"{path}, line {number}")
    found = [sentence for sentence in sentences if sentence]
    if not found:
        raise InputError(f"{path} holds no sentence; give a CoNLL-U file")
    return found


def _word(line: str, where: str) -> list[TreebankWord]:
    fields = line.split("\t")
    if len(fields) != _FIELDS:
        raise InputError(f"{where} has {len(fields)} fields, not the {_FIELDS} of CoNLL-U")
    number, form, lemma, tag = fields[:4]
    if "-" in number or "." in number:
        return []
    if tag not in UNIVERSAL_TAGS:
        raise InputError(f"{where} has the tag {tag!r}; universal tags are {', '.join(sorted(UNIVERSAL_TAGS))}")
    return [TreebankWord(form, form if lemma == _NONE else lemma, tag, fields[5])]


def as_captions(sentences: Iterable[Sentence]) -> Iterator[list[TreebankWord]]:
    """The sentences in the style of captions: words and lemmas in lower case, no punctuation.

    A word that cleaning would split ("e-mail", "n't") is left out, and so is a sentence without any word left.
    """
    for sentence in sentences:
        caption = []
        for word in sentence:
            cleaned = clean_words(word.text)
            if len(cleaned) == 1:
                caption.append(TreebankWord(cleaned[0], word.lemma.lower(), word.pos, word.features))
        if caption:
            yield caption
