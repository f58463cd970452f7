"""Treebanks in CoNLL-U: their sentences, as they are and in captions' style, and a tagger's accuracy on them."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from vtr_core.errors import InputError
from vtr_core.storage import local_path
from vtr_core.text.tagging.tagger import UNIVERSAL_TAGS, PosTagger, part_of
from vtr_core.text.tokens.vocabulary import clean_words

_FIELDS = 10
_NO_LEMMA = "_"


class TreebankWord(NamedTuple):
    """A word with its true tag and lemma."""

    text: str
    lemma: str
    pos: str


Sentence = Sequence[TreebankWord]


def treebank_file(folder: str, part: str) -> Path:
    """The one file of a treebank's folder that ends in -`part`.conllu; InputError unless there is exactly one."""
    files = sorted(Path(local_path(folder)).glob(f"*-{part}.conllu"))
    if len(files) != 1:
        names = ", ".join(path.name for path in files) or "none"
        raise InputError(
            f"{folder} has {names} for its {part} part; give the folder of a Universal Dependencies treebank, with one "
            f"file …-{part}.conllu"
        )
    return files[0]


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
    sentences = [sentence for sentence in sentences if sentence]
    if not sentences:
        raise InputError(f"{path} holds no sentence; give a CoNLL-U file")
    return sentences


def _word(line: str, where: str) -> list[TreebankWord]:
    fields = line.split("\t")
    if len(fields) != _FIELDS:
        raise InputError(f"{where} has {len(fields)} fields, not the {_FIELDS} of CoNLL-U")
    number, form, lemma, tag = fields[:4]
    if "-" in number or "." in number:
        return []
    if tag not in UNIVERSAL_TAGS:
        raise InputError(f"{where} has the tag {tag!r}; universal tags are {', '.join(sorted(UNIVERSAL_TAGS))}")
    return [TreebankWord(form, form if lemma == _NO_LEMMA else lemma, tag)]


def as_captions(sentences: Iterable[Sentence]) -> Iterator[list[TreebankWord]]:
    """The sentences in the style of captions: words and lemmas in lower case, no punctuation.

    A word that cleaning would split ("e-mail", "n't") is left out, and so is a sentence without any word left.
    """
    for sentence in sentences:
        caption = []
        for word in sentence:
            cleaned = clean_words(word.text)
            if len(cleaned) == 1:
                caption.append(TreebankWord(cleaned[0], word.lemma.lower(), word.pos))
        if caption:
            yield caption


@dataclass(frozen=True)
class TaggerAccuracy:
    """Shares of words, in [0, 1]."""

    words: int
    tags: float
    """The universal tag is right."""
    parts: float
    """The part of speech that concepts are made of is right, none counting as one."""
    lemmas: float
    """The lemma is right, in lower case."""
    concepts: float
    """Of the words that have a part of speech: part and lemma are both right."""


@dataclass(frozen=True)
class TreebankAccuracy:
    """Accuracy on the sentences of a treebank as they are, and in the style of captions (see `as_captions`)."""

    sentences: TaggerAccuracy
    captions: TaggerAccuracy


def treebank_accuracy(tagger: PosTagger, sentences: Sequence[Sentence]) -> TreebankAccuracy:
    """Both accuracies of a tagger, with the treebank's tokenisation."""
    return TreebankAccuracy(accuracy(tagger, sentences), accuracy(tagger, list(as_captions(sentences))))


def accuracy(tagger: PosTagger, sentences: Sequence[Sentence]) -> TaggerAccuracy:
    """The accuracy over all words of all sentences; InputError where there are none."""
    captions = tagger.tag([word.text for word in sentence] for sentence in sentences)
    pairs = [
        (true, tagged)
        for sentence, caption in zip(sentences, captions, strict=True)
        for true, tagged in zip(sentence, caption, strict=True)
    ]
    if not pairs:
        raise InputError("there is no word to measure a tagger on")
    same_part = [part_of(true.pos) == part_of(tagged.pos) for true, tagged in pairs]
    same_lemma = [true.lemma.lower() == tagged.lemma.lower() for true, tagged in pairs]
    has_part = [part_of(true.pos) is not None for true, _ in pairs]
    same_both = [part and lemma for part, lemma, counts in zip(same_part, same_lemma, has_part, strict=True) if counts]
    return TaggerAccuracy(
        words=len(pairs),
        tags=_share([true.pos == tagged.pos for true, tagged in pairs]),
        parts=_share(same_part),
        lemmas=_share(same_lemma),
        concepts=_share(same_both),
    )


def _share(right: Sequence[bool]) -> float:
    return sum(right) / len(right) if right else 0.0
