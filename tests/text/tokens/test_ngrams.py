"""Keys of n-grams, by which those of several calls are compared."""

from collections.abc import Sequence

import numpy as np

from vtr_core.text.statistics import ngrams


def distinct(captions: Sequence[Sequence[str]]) -> set[tuple[str, ...]]:
    """All n-grams of 1 to 4 words."""
    return {
        tuple(words[first : first + size])
        for words in captions
        for size in range(1, 5)
        for first in range(len(words) - size + 1)
    }


def test_the_same_words_have_the_same_key_in_every_call() -> None:
    one = [["a"], ["b", "a", "c", "a", "b"], ["c"]]
    other = [["c", "a"], ["x", "a", "b"], ["b", "a"], ["a", "c"], ["a", "c", "a", "b", "x"]]
    first, second = set(ngrams(one).key.tolist()), set(ngrams(other).key.tolist())
    assert len(first) == len(distinct(one))
    assert len(first & second) == len(distinct(one) & distinct(other))
    pair = ngrams([["a", "b"]])
    assert pair.key.tolist() == [*ngrams([["a"], ["b"]]).key.tolist(), ngrams([["a", "b"], ["z"]]).key.tolist()[-1]]


def test_keys_of_many_n_grams_are_distinct() -> None:
    drawn = np.random.default_rng(0).integers(0, 300, (5000, 12)).tolist()
    grams = ngrams(drawn)
    assert grams.num_grams > 100_000
    assert len(np.unique(grams.key)) == grams.num_grams
