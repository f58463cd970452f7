"""The words that a data set knows, and captions as rows of word ids."""

import json
import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from jaxtyping import Int32

from vtr_core.errors import DatasetError
from vtr_core.fingerprint import fingerprint
from vtr_core.json_text import parse_json

PADDING = 0
_WORD = re.compile(r"[\w']+")


def tokenise(text: str) -> list[str]:
    """The words of `text` in order: runs of letters, digits, underscores and apostrophes, in lower case."""
    return _WORD.findall(text.lower())


@dataclass(frozen=True)
class Vocabulary:
    """Distinct words; the word at position i has the id i + 1, and 0 is padding."""

    words: tuple[str, ...]

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
        """sha256 of the words in their order."""
        return fingerprint(self.words)

    def encode(self, caption: str, max_words: int) -> Int32[np.ndarray, " max_words"]:
        """The ids of the first `max_words` known words of `caption`, padded with 0; unknown words are dropped."""
        known = [self.ids[word] for word in tokenise(caption) if word in self.ids][:max_words]
        row = np.full(max_words, PADDING, np.int32)
        row[: len(known)] = known
        return row

    @classmethod
    def from_captions(cls, captions: Iterable[str], min_count: int = 1) -> "Vocabulary":
        """The words that occur at least `min_count` times, by descending count, then alphabetically."""
        counts = Counter(word for caption in captions for word in tokenise(caption))
        kept = [word for word, count in counts.items() if count >= min_count]
        return cls(tuple(sorted(kept, key=lambda word: (-counts[word], word))))

    def to_json(self) -> bytes:
        """The content of `vocabulary.json`."""
        return (json.dumps({"words": self.words, "fingerprint": self.fingerprint}, ensure_ascii=False) + "\n").encode()

    @classmethod
    def from_json(cls, content: bytes, where: str = "vocabulary.json") -> "Vocabulary":
        """The vocabulary that `to_json` wrote at `where`; DatasetError where the content is damaged."""
        try:
            value = parse_json(content)
            words, expected = tuple(value["words"]), value["fingerprint"]
            distinct = len({word for word in words if isinstance(word, str)})
        except (ValueError, KeyError, TypeError) as error:
            raise DatasetError(
                f"{where} is not a vocabulary ({error!r}); rebuild the data set with vtr ingest"
            ) from error
        if distinct != len(words) or fingerprint(words) != expected:
            raise DatasetError(f"{where} does not match its fingerprint; rebuild the data set with vtr ingest")
        return cls(words)
