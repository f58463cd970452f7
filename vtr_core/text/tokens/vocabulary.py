"""The vocabulary of a data set, and cleaned captions as rows of ids of words, plain or tagged."""

import json
import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any, TypeVar, assert_never, cast, get_args

import numpy as np
import regex
from jaxtyping import Int32, Int64

from vtr_core.config.data_sets import TextUnit, Tokenizer, UnknownWords
from vtr_core.config.override import record
from vtr_core.errors import DatasetError, InputError
from vtr_core.fingerprint import fingerprint
from vtr_core.json_text import parse_json

if TYPE_CHECKING:
    from vtr_core.text.tagging.tagger import PosTagger


_OTHER = re.compile(r"[^A-Za-z0-9]")


def clean_words(text: str) -> list[str]:
    """The words of `text`: every character but A–Z, a–z, 0–9 becomes a space, the rest lower case, split at spaces.

    A contraction leaves its parts ("don", "t"), an accented letter cuts its word ("cr", "me"), and a text in another
    alphabet leaves nothing.
    """
    return _OTHER.sub(" ", text).lower().split()


@dataclass(frozen=True)
class WordTags:
    """The tagger of a vocabulary's words: its name on the command line, and its fingerprint."""

    tagger: str
    """default, spacy:NAME, wordnet:FOLDER, …"""
    fingerprint: str

    @classmethod
    def of(cls, choice: str) -> "WordTags":
        """The tags of an installed tagger; ConfigError where it is missing."""
        return cls(choice, _tagger(choice).fingerprint)

    def tagged(self, captions: Iterable[Sequence[str]]) -> Iterator[list[str]]:
        """The words of every caption as `word/part`: noun, verb, adjective, adverb, preposition or conjunction.

        A word of another part (articles, pronouns, auxiliaries, numbers) stays as it is. Raises DatasetError where the
        installed tagger gives other tags than the one that made the vocabulary, ConfigError where there is none.
        """
        from vtr_core.text.tagging.tagger import part_of

        tagger = _tagger(self.tagger)
        if tagger.fingerprint != self.fingerprint:
            raise DatasetError(
                f"the words were tagged by another {self.tagger} than the one here, {tagger.name}; restore that "
                "tagger, or make the data set anew with vtr ingest … --tagger and train on it"
            )
        for words in tagger.tag(captions):
            yield [f"{word.text}/{part}" if (part := part_of(word.pos)) else word.text for word in words]


def bare_word(word: str) -> str:
    """A word without its part of speech."""
    return word.partition("/")[0]


@lru_cache(maxsize=4)
def _tagger(choice: str) -> "PosTagger":
    from vtr_core.text.tagging.tagger import choose_tagger

    return choose_tagger(choice)


T = TypeVar("T", bound=str)
PADDING = 0
NUM_SPECIAL = 4
"""<pad> is id 0; <start>, <end> and <unk> are the three ids after the vocabulary's words."""
TEXT_BYTES = 1024
"""Bytes of a caption that reach a pretrained text encoder, some 250 words; most encoders read 64 to 256 pieces."""
_ASCII_RUN = re.compile(r"[\w']+")
_RUN = regex.compile(r"[\p{L}\p{N}_'](?:[\p{L}\p{N}_'\p{Mn}\p{Mc}]|[\u200c\u200d](?=[\p{L}\p{N}]))*")
"""Combining marks belong to the letter before them; joiners between letters to the word."""
_UNSPACED = regex.compile(r"[\p{Han}\p{Hiragana}\p{Katakana}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}]")
_LETTER = regex.compile(r"[\p{L}\p{N}]")
_UNSEEN = (0xAD, 0x2060, 0xFEFF, *range(0xFE00, 0xFE10), *range(0xE0100, 0xE01F0))
"""Soft hyphen, word joiner, byte-order mark, and selectors of a letter's variant."""
_ALIKE = dict.fromkeys(map(ord, "‘’‛ʼ＇"), "'") | dict.fromkeys(_UNSEEN)

CUT = 2
"""Version of `tokenise`. 1 cut words at combining marks and at ’, and left a Chinese caption whole."""


def tokenise(text: str, version: int = CUT) -> list[str]:
    """The words of `text` in order, in lower case and Unicode's NFC: runs of letters with their marks, digits,
    underscores and apostrophes, straight or typographic.

    Chinese, Japanese, Thai, Lao, Khmer and Burmese, which write no spaces, are cut by ICU's dictionaries.
    """
    if version < CUT:
        return _ASCII_RUN.findall(text.lower())
    runs = letter_runs(text)
    if text.isascii() or not _UNSPACED.search(text):
        return runs
    return [word for run in runs for word in (_segments(run) if _UNSPACED.search(run) else [run])]


def letter_runs(text: str) -> list[str]:
    """What `tokenise` cuts further where a script has no spaces; no library's dictionary changes these."""
    if text.isascii():
        return _ASCII_RUN.findall(text.lower())
    lower = text.lower().replace("i\u0307", "i")  # of the Turkish capital İ
    runs: list[str] = _RUN.findall(unicodedata.normalize("NFC", lower).translate(_ALIKE))
    return runs


def _segments(run: str) -> list[str]:
    from icu4py.breakers import WordBreaker  # 40 MB, which most texts do not need

    return [segment for segment in WordBreaker(run, "root") if _LETTER.search(segment)]


def given_texts(texts: Any) -> list[str]:
    """What a caller gives as texts, one or several, as a list; InputError for what is no text."""
    if isinstance(texts, str):
        return [texts]
    if isinstance(texts, bytes) or not isinstance(texts, Iterable):
        raise InputError(f"{ascii(texts)[:60]} is no text but {type(texts).__name__}; give a text or a list of texts")
    listed = list(texts)
    for place, text in enumerate(listed):
        if not isinstance(text, str):
            raise InputError(f"text {place}: {ascii(text)[:60]} is no text but {type(text).__name__}; give texts alone")
    return listed


def words_of(text: str, tokenizer: TextUnit, version: int = CUT) -> list[str]:
    """The words of `text` as `tokenizer` cuts it."""
    match tokenizer:
        case "words":
            return tokenise(text, version)
        case "alphanumeric":
            return clean_words(text)
        case "utf8":
            return [f"{byte:02x}" for byte in text.encode(errors="replace")]
        case _:
            assert_never(tokenizer)


def word_counts(captions: Iterable[str], tokenizer: Tokenizer, tags: WordTags | None = None) -> Counter[str]:
    """How often each word occurs in the captions, by part of speech where there are tags."""
    return Counter(word for words in cut_captions(captions, tokenizer, tags) for word in words)


@dataclass(frozen=True)
class Vocabulary:
    """Distinct words, and how captions are cut into words.

    The word at position i has the id i + 1, and 0 is padding. Unknown words are dropped, or have the id of `<unk>`,
    len(words) + 3 (Dong et al. 2021: level 1 of a text does not count it, levels 2 and 3 read it). With `tags`, words
    carry their part of speech. With `texts`, each row of ids is followed by the caption's text in UTF-8 (`texts_of`),
    for models that read both.
    """

    words: tuple[str, ...]
    tokenizer: TextUnit = "words"
    unknown: UnknownWords = "dropped"
    tags: WordTags | None = None
    texts: bool = False
    version: int = CUT
    """Of `tokenise`, where words are cut by it: a vocabulary's texts are cut as it was made."""

    def __post_init__(self) -> None:
        assert len(set(self.words)) == len(self.words), "a vocabulary holds each word once"

    def __len__(self) -> int:
        return len(self.words)

    @cached_property
    def ids(self) -> dict[str, int]:
        """The id of every word."""
        return {word: position for position, word in enumerate(self.words, start=1)}

    def row_length(self, max_words: int) -> int:
        """The length of a row of tokens: texts as bytes have one of their own."""
        if self.tokenizer == "utf8":
            return TEXT_BYTES
        return max_words + TEXT_BYTES * self.texts

    @property
    def fingerprint(self) -> str:
        """sha256 of the words in their order, and of how captions are tokenised where that is not the default."""
        if self.texts:
            return fingerprint([replace(self, texts=False).fingerprint, "texts"])
        how = [self.unknown, None if self.tags is None else self.tags.fingerprint]
        if how != ["dropped", None]:
            return fingerprint([self.tokenizer, self.words, *how])
        return fingerprint(self.words if self.tokenizer == "words" else [self.tokenizer, self.words])

    def known(self, caption: str) -> list[int]:
        """The ids of the words of `caption`, in order; unknown words are dropped or have the id of `<unk>`."""
        return self.known_all([caption])[0]

    def known_all(self, captions: Sequence[str]) -> list[list[int]]:
        """`known` of every caption; a tagger is quicker with many at once."""
        unknown = [] if self.unknown == "dropped" else [len(self.words) + NUM_SPECIAL - 1]
        return [
            [number for word in words for number in ([self.ids[word]] if word in self.ids else unknown)]
            for words in self.cut_all(captions)
        ]

    def cut_all(self, captions: Iterable[str]) -> Iterator[list[str]]:
        """The words of every caption, known or not."""
        return cut_captions(captions, self.tokenizer, self.tags, self.version)

    def encode(self, caption: str, max_words: int) -> Int32[np.ndarray, " max_words"]:
        """The first `max_words` ids of `caption`, padded with 0."""
        return cast(np.ndarray, self.encode_all([caption], max_words)[0])

    def encode_all(self, captions: Sequence[str], max_words: int) -> Int32[np.ndarray, "captions max_words"]:
        """`encode` of every caption; texts are `row_length` long, whatever the number of words."""
        if self.tokenizer == "utf8":
            return _utf8_rows(captions)
        rows = [padded_ids(ids, max_words) for ids in self.known_all(captions)]
        words = np.array(rows, np.int32).reshape(len(captions), max_words)
        return np.hstack([words, _utf8_rows(captions)]) if self.texts else words

    def unknown_words(self, text: str) -> tuple[str, ...]:
        """The words of `text` that are not among these, each once; () where a pretrained encoder reads the text."""
        if self.tokenizer == "utf8" or self.texts:
            return ()
        (words,) = self.cut_all([text])
        return tuple(dict.fromkeys(word for word in words if word not in self.ids))

    def with_texts(self) -> "Vocabulary":
        """These words, and each caption's text after them."""
        return replace(self, texts=True)

    @classmethod
    def utf8(cls) -> "Vocabulary":
        """The 256 bytes: a caption's tokens are its text itself, for models with a pretrained text encoder."""
        return cls(tuple(f"{byte:02x}" for byte in range(256)), tokenizer="utf8")

    @classmethod
    def from_counts(
        cls,
        counts: Mapping[str, int],
        min_count: int = 1,
        tokenizer: Tokenizer = "words",
        unknown: UnknownWords = "dropped",
        tags: WordTags | None = None,
    ) -> "Vocabulary":
        """The words that occur at least `min_count` times, by descending count, then alphabetically."""
        frequent = [word for word, count in counts.items() if count >= min_count]
        return cls(tuple(sorted(frequent, key=lambda word: (-counts[word], word))), tokenizer, unknown, tags)

    def to_json(self) -> bytes:
        """The content of `vocabulary.json`."""
        value: dict[str, Any] = {"tokenizer": self.tokenizer, "words": self.words, "fingerprint": self.fingerprint}
        if self.tokenizer == "words" and self.version > 1:
            value["version"] = self.version
        if self.unknown != "dropped":
            value["unknown"] = self.unknown
        if self.tags is not None:
            value["tags"] = asdict(self.tags)
        if self.texts:
            value["texts"] = True
        return (json.dumps(value, ensure_ascii=False) + "\n").encode()

    @classmethod
    def from_json(cls, content: bytes, where: str = "vocabulary.json") -> "Vocabulary":
        """The vocabulary that `to_json` wrote at `where`; DatasetError where the content is damaged.

        Files of older data sets and checkpoints may lack settings: without a tokenizer they are of `words`, which are
        cut by version 1 of `tokenise` where none is named; without the others they drop unknown words and have no tags.
        """
        try:
            value = parse_json(content)
            words, expected = tuple(value["words"]), value["fingerprint"]
            tokenizer = _one_of(value.get("tokenizer", "words"), (*get_args(Tokenizer), "utf8"), "tokenizer")
            unknown = _one_of(value.get("unknown", "dropped"), get_args(UnknownWords), "treatment of unknown words")
            tags = record(WordTags, value["tags"]) if "tags" in value else None
            texts = value.get("texts", False) is True
            version = int(_one_of(str(value.get("version", 1)), ("1", "2"), "version of words"))
            version = version if tokenizer == "words" else CUT
            distinct = len({word for word in words if isinstance(word, str)})
        except (ValueError, KeyError, TypeError) as error:
            raise DatasetError(
                f"{where} is not a vocabulary ({error!r}); rebuild the data set with vtr ingest"
            ) from error
        if (
            distinct != len(words)
            or (vocabulary := cls(words, tokenizer, unknown, tags, texts, version)).fingerprint != expected
        ):
            raise DatasetError(f"{where} does not match its fingerprint; rebuild the data set with vtr ingest")
        return vocabulary


def texts_of(tokens: Int64[np.ndarray, "captions max_words"]) -> list[str]:
    """The captions whose rows of tokens `Vocabulary.utf8` made; a letter that was cut at the end is left out."""
    return [bytes((row[row != PADDING] - 1).astype(np.uint8)).decode(errors="ignore") for row in tokens]


def cut_captions(
    captions: Iterable[str], tokenizer: TextUnit, tags: WordTags | None, version: int = CUT
) -> Iterator[list[str]]:
    """The words of every caption, with their part of speech where there are tags."""
    words = (words_of(caption, tokenizer, version) for caption in captions)
    return words if tags is None else tags.tagged(words)


def padded_ids(ids: Sequence[int], max_words: int) -> Int32[np.ndarray, " max_words"]:
    """The first `max_words` of `ids`, padded with 0."""
    row = np.full(max_words, PADDING, np.int32)
    row[: min(len(ids), max_words)] = ids[:max_words]
    return row


def _utf8_rows(captions: Sequence[str]) -> Int32[np.ndarray, "captions bytes"]:
    rows = np.zeros((len(captions), TEXT_BYTES), np.int32)
    for row, caption in zip(rows, captions, strict=True):
        content = np.frombuffer(caption.strip().encode(errors="replace")[:TEXT_BYTES], np.uint8)
        row[: len(content)] = content.astype(np.int32) + 1
    return rows


def _one_of(name: Any, allowed: Sequence[T], setting: str) -> T:
    for known in allowed:
        if name == known:
            return known
    raise ValueError(f"the {setting} {name!r} is none of {', '.join(allowed)}")
