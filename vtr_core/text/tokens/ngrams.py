"""The n-grams of many captions as sparse counts in arrays."""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Int64, UInt64

from vtr_core.fingerprint import key64

LONGEST = 4
"""The longest n-grams, in words."""
_FACTOR = np.uint64(0x9E3779B97F4A7C15)
"""Of an n-gram's key, the factor of all words but the last."""


@dataclass(frozen=True)
class NGrams:
    """Sparse counts: entry e says that caption `caption[e]` contains the n-gram `gram[e]`, of `order[e]` + 1 words,
    `count[e]` times. N-gram ids count from 0 over all orders; a pair of caption and n-gram has one entry at most.
    """

    caption: Int64[np.ndarray, " entries"]
    gram: Int64[np.ndarray, " entries"]
    order: Int64[np.ndarray, " entries"]
    count: Int64[np.ndarray, " entries"]
    words: Int64[np.ndarray, " captions"]
    """Words of every caption."""
    num_grams: int
    key: UInt64[np.ndarray, " grams"]
    """A hash of every n-gram's words, by which n-grams of several calls are told apart."""

    def of(self, captions: Bool[np.ndarray, " captions"]) -> "NGrams":
        """The entries of some of the captions; ids of n-grams and numbers of captions stay the same."""
        kept = captions[self.caption]
        caption, gram, order, count = self.caption[kept], self.gram[kept], self.order[kept], self.count[kept]
        return NGrams(caption, gram, order, count, self.words, self.num_grams, self.key)


def ngrams(captions: Sequence[Sequence[Hashable]], longest: int = LONGEST) -> NGrams:
    """The n-grams of 1 to `longest` words of every caption, which is given as its words."""
    ids: dict[Hashable, int] = {}
    word = np.fromiter((ids.setdefault(word, len(ids)) for words in captions for word in words), np.int64)
    lengths = np.fromiter((len(words) for words in captions), np.int64, len(captions))
    caption = np.repeat(np.arange(len(captions)), lengths)
    rest = np.repeat(np.cumsum(lengths), lengths) - np.arange(len(word))
    first, gram, num_grams = np.arange(len(word)), word, 0
    word_key = np.fromiter((key64(str(word)) for word in ids), np.int64, len(ids)).view(np.uint64)
    key = word_key[word]
    parts, keys = [], []
    for order in range(longest):
        if order:  # a longer n-gram is a shorter one followed by one more word
            follows = rest[first] > order
            first = first[follows]
            code = gram[follows] * max(1, len(ids)) + word[first + order]
            gram = np.unique(code, return_inverse=True)[1].astype(np.int64)
            key = key[follows] * _FACTOR + word_key[word[first + order]]
        distinct = int(gram.max(initial=-1)) + 1
        keys.append(np.empty(distinct, np.uint64))
        keys[-1][gram] = key
        pair, count = np.unique(caption[first] * max(1, distinct) + gram, return_counts=True)
        owner, own = np.divmod(pair, max(1, distinct))
        parts.append((owner, own + num_grams, np.full(len(pair), order), count.astype(np.int64)))
        num_grams += distinct
    owner, gram, orders, count = (np.concatenate(columns) for columns in zip(*parts, strict=True))
    return NGrams(owner, gram, orders, count, lengths, num_grams, np.concatenate(keys))
