"""Treebanks: sentences as they are and in captions' style, licences, and settings of training on them."""

import random
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Annotated, NamedTuple

from pydantic import Field, PositiveFloat

from vtr_core.config.settings import NonNegativeInt, PositiveInt, Settings
from vtr_core.errors import ConfigError, InputError
from vtr_core.text.tagging.tagger import UNIVERSAL_TAGS
from vtr_core.text.tokens.vocabulary import clean_words


class TaggerSettings(Settings):
    """Size of the network, and how it is trained."""

    width: PositiveInt = 96
    """Values of a word's vector."""
    depth: PositiveInt = 3
    """Convolutions, each of which sees one word more on either side."""
    pieces: PositiveInt = 2
    """Linear functions of which each of a convolution's values is the largest."""
    rows: tuple[PositiveInt, PositiveInt, PositiveInt, PositiveInt] = (4000, 300, 2000, 300)
    """Rows of the tables of vectors: for words, first letters, last three letters, shapes."""
    epochs: PositiveInt = 6
    """Passes over the treebank; the best of them by the accuracy on its dev part is kept."""
    batch_words: PositiveInt = 600
    """Words of a batch."""
    learning_rate: PositiveFloat = 0.001
    """Of Adam, after 250 steps; it falls linearly to a tenth at the end."""
    dropout: Annotated[float, Field(ge=0, lt=1)] = 0.1
    """Share of values dropped in training."""
    caption_share: Annotated[float, Field(ge=0, le=1)] = 0.6
    """Share of sentences that an epoch shows as captions are written: in lower case, without punctuation."""
    scene_share: Annotated[float, Field(ge=0, le=1)] = 0.5
    """Share of these that are retold as captions tell: somebody does something, in the present."""
    seed: NonNegativeInt = 0
    """Of weights, order and dropout."""


class Treebank(Settings):
    """What has to be said of a treebank."""

    name: str
    licence: str
    url: str
    attribution: str


_EWT = Treebank(
    name="Universal Dependencies English EWT",
    licence="CC BY-SA 4.0",
    url="https://universaldependencies.org/treebanks/en_ewt",
    attribution=(
        "Natalia Silveira, Timothy Dozat, Marie-Catherine de Marneffe, Samuel Bowman, Miriam Connor, John Bauer and "
        "Christopher D. Manning: A Gold Standard Dependency Corpus for English, LREC 2014; and the contributors to "
        "Universal Dependencies English EWT"
    ),
)


def known_treebank(file: Path, licence: str | None, attribution: str | None) -> Treebank:
    """Licence and attribution of a file's treebank: known for English EWT, ConfigError where they lack for another."""
    if licence is None and attribution is None and file.name.startswith("en_ewt-"):
        return _EWT
    if licence is None or attribution is None:
        raise ConfigError(f"{file.name} is of an unknown treebank; give its --licence and --attribution")
    return Treebank(name=file.name.partition("-ud-")[0], licence=licence, url="", attribution=attribution)


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


_PEOPLE = (
    "a/DET man/NOUN",
    "a/DET woman/NOUN",
    "the/DET man/NOUN",
    "a/DET person/NOUN",
    "a/DET young/ADJ girl/NOUN",
    "the/DET boy/NOUN",
    "a/DET dog/NOUN",
    "a/DET group/NOUN",
    "two/NUM women:woman/NOUN",
    "men:man/NOUN",
    "people:people/NOUN",
    "someone/PRON",
)
_PRESENT = {"was": "is", "were": "are", "did": "does", "had": "has", "have": "has", "am": "is", "'m": "is"}


def as_scene(sentence: Sentence, draw: random.Random) -> list[TreebankWord]:
    """The sentence with a person in place of every subject pronoun, and with finite verbs in the third person.

    Treebanks tell what "I" or "they" did; captions say that "a man talks". Without such examples a tagger takes "talks"
    for a noun. A verb need not agree in number with a subject that was a noun; captions are no more careful.
    """
    return [word for original in sentence for word in _retold(original, draw)]


def _retold(word: TreebankWord, draw: random.Random) -> Iterator[TreebankWord]:
    if word.pos == "PRON" and "Case=Nom" in word.features:
        yield from _somebody(draw.choice(_PEOPLE))
    elif word.pos == "VERB" and "Mood=Ind" in word.features:
        yield word._replace(text=third_person(word.lemma))
    elif word.pos == "AUX":
        yield word._replace(text=_PRESENT.get(word.text.lower(), word.text))
    else:
        yield word


def _somebody(tagged: str) -> Iterator[TreebankWord]:
    for item in tagged.split():
        form, _, tag = item.partition("/")
        text, _, lemma = form.partition(":")
        yield TreebankWord(text, lemma or text, tag)


def third_person(lemma: str) -> str:
    """The third person singular of a verb: "goes", "tries", "talks"."""
    if lemma.endswith(("s", "x", "z", "ch", "sh", "o")):
        return lemma + "es"
    if lemma.endswith("y") and lemma[-2:-1] not in ("a", "e", "o", "u", ""):
        return lemma[:-1] + "ies"
    return {"have": "has", "be": "is"}.get(lemma, lemma + "s")
