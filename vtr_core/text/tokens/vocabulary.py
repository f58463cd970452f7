"""The words that a data set knows, and captions as rows of word ids."""

import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, assert_never, get_args

import numpy as np
from jaxtyping import Int32

from vtr_core.errors import DatasetError
from vtr_core.fingerprint import fingerprint
from vtr_core.json_text import parse_json
from vtr_core.text.tokens.cleaning import clean_words

Tokenizer = Literal["words", "alphanumeric"]
"""What cuts a caption into words: `tokenise`, or `clean_words`, which knows nothing but A–Z, a–z and 0–9."""

PADDING = 0
_WORD = re.compile(r"[\w']+")


def tokenise(text: str) -> list[str]:
    """The words of `text` in order: runs of letters, digits, underscores and apostrophes, in lower case."""
    return _WORD.findall(text.lower())


def words_of(text: str, tokenizer: Tokenizer) -> list[str]:
    """The words of `text` as `tokenizer` cuts it."""
    match tokenizer:
        case "words":
            return tokenise(text)
        case "alphanumeric":
            return clean_words(text)
        case _:
            assert_never(tokenizer)


def word_counts(captions: Iterable[str], tokenizer: Tokenizer) -> Counter[str]:
    """How often each word occurs in the captions."""
    return Counter(word for caption in captions for word in words_of(caption, tokenizer))


@dataclass(frozen=True)
class Vocabulary:
    """Distinct words, and how captions are cut into words.

    The word at position i has the id i + 1, and 0 is padding.
    """

    words: tuple[str, ...]
    tokenizer: Tokenizer = "words"

    def __post_init__(self) -> None:
        assert len(set(self.words)) == len(self.words), "a vocabulary holds each word once"

    def __len__(self) -> int:
        return len(self.words)

    @cached_property
    def ids(self) -> dict[str, int]:
        """The id of every word."""
        return {word: position for position, word in enumerate(self.words, start=1)}

    @property
    def fingerprint(self) -> str:
        """sha256 of the words in their order, and of the tokenizer where it is not `words`."""
        return fingerprint(self.words if self.tokenizer == "words" else [self.tokenizer, self.words])

    def known(self, caption: str) -> list[int]:
        """The ids of all words of `caption` that are known, in order."""
        return [self.ids[word] for word in words_of(caption, self.tokenizer) if word in self.ids]

    def encode(self, caption: str, max_words: int) -> Int32[np.ndarray, " max_words"]:
        """The ids of the first `max_words` known words of `caption`, padded with 0; unknown words are dropped."""
        return padded_ids(self.known(caption), max_words)

    @classmethod
    def from_captions(cls, captions: Iterable[str], min_count: int = 1, tokenizer: Tokenizer = "words") -> "Vocabulary":
        """The words that occur at least `min_count` times, by descending count, then alphabetically."""
        return cls.from_counts(word_counts(captions, tokenizer), min_count, tokenizer)

    @classmethod
    def from_counts(cls, counts: Mapping[str, int], min_count: int = 1, tokenizer: Tokenizer = "words") -> "Vocabulary":
        """The same of words that were counted, for instance in parts that were added."""
        kept = [word for word, count in counts.items() if count >= min_count]
        return cls(tuple(sorted(kept, key=lambda word: (-counts[word], word))), tokenizer)

    def to_json(self) -> bytes:
        """The content of `vocabulary.json`."""
        value = {"tokenizer": self.tokenizer, "words": self.words, "fingerprint": self.fingerprint}
        return (json.dumps(value, ensure_ascii=False) + "\n").encode()

    @classmethod
    def from_json(cls, content: bytes, where: str = "vocabulary.json") -> "Vocabulary":
        """The vocabulary that `to_json` wrote at `where`; DatasetError where the content is damaged.

        A file without a tokenizer, as older data sets and checkpoints have it, is of `words`.
        """
        try:
            value = parse_json(content)
            words, expected = tuple(value["words"]), value["fingerprint"]
            tokenizer = _tokenizer(value.get("tokenizer", "words"))
            distinct = len({word for word in words if isinstance(word, str)})
        except (ValueError, KeyError, TypeError) as error:
            raise DatasetError(
                f"{where} is not a vocabulary ({error!r}); rebuild the data set with vtr ingest"
            ) from error
        if distinct != len(words) or (found := cls(words, tokenizer)).fingerprint != expected:
            raise DatasetError(f"{where} does not match its fingerprint; rebuild the data set with vtr ingest")
        return found


def padded_ids(ids: Sequence[int], max_words: int) -> Int32[np.ndarray, " max_words"]:
    """The first `max_words` of `ids`, padded with 0."""
    row = np.full(max_words, PADDING, np.int32)
    row[: min(len(ids), max_words)] = ids[:max_words]
    return row


def _tokenizer(name: Any) -> Tokenizer:
    for known in get_args(Tokenizer):
        if name == known:
            return known
    raise ValueError(f"the tokenizer {name!r} is none of {', '.join(get_args(Tokenizer))}")
