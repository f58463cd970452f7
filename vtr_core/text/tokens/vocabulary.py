"""The vocabulary of a data set, and cleaned captions as rows of ids of words, plain or tagged."""

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any, TypeVar, assert_never, cast, get_args

import numpy as np
from jaxtyping import Int32, Int64

from vtr_core.config.data_sets import TextUnit, Tokenizer, UnknownWords
from vtr_core.config.override import record
from vtr_core.errors import DatasetError
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
_WORD = re.compile(r"[\w']+")


def tokenise(text: str) -> list[str]:
    """The words of `text` in order: runs of letters, digits, underscores and apostrophes, in lower case."""
    return _WORD.findall(text.lower())


def words_of(text: str, tokenizer: TextUnit) -> list[str]:
    """The words of `text` as `tokenizer` cuts it."""
    match tokenizer:
        case "words":
            return tokenise(text)
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
        return cut_captions(captions, self.tokenizer, self.tags)

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

        Files of older data sets and checkpoints may lack settings: without a tokenizer they are of `words`, without the
        others they drop unknown words and have no tags.
        """
        try:
            value = parse_json(content)
            words, expected = tuple(value["words"]), value["fingerprint"]
            tokenizer = _one_of(value.get("tokenizer", "words"), (*get_args(Tokenizer), "utf8"), "tokenizer")
            unknown = _one_of(value.get("unknown", "dropped"), get_args(UnknownWords), "treatment of unknown words")
            tags = record(WordTags, value["tags"]) if "tags" in value else None
            texts = value.get("texts", False) is True
            distinct = len({word for word in words if isinstance(word, str)})
        except (ValueError, KeyError, TypeError) as error:
            raise DatasetError(
                f"{where} is not a vocabulary ({error!r}); rebuild the data set with vtr ingest"
            ) from error
        if (
            distinct != len(words)
            or (vocabulary := cls(words, tokenizer, unknown, tags, texts)).fingerprint != expected
        ):
            raise DatasetError(f"{where} does not match its fingerprint; rebuild the data set with vtr ingest")
        return vocabulary


def texts_of(tokens: Int64[np.ndarray, "captions max_words"]) -> list[str]:
    """The captions whose rows of tokens `Vocabulary.utf8` made; a letter that was cut at the end is left out."""
    return [bytes((row[row != PADDING] - 1).astype(np.uint8)).decode(errors="ignore") for row in tokens]


def cut_captions(captions: Iterable[str], tokenizer: TextUnit, tags: WordTags | None) -> Iterator[list[str]]:
    """The words of every caption, with their part of speech where there are tags."""
    words = (words_of(caption, tokenizer) for caption in captions)
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
