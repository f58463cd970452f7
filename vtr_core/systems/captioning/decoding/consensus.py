"""The caption that others agree with most: minimum Bayes risk decoding with CIDEr's n-grams as the gain."""

from collections import Counter
from collections.abc import Sequence
from math import exp, sqrt

LONGEST = 4
"""The longest n-grams, in words."""
_LENGTH_DEVIATION = 6.0
"""σ of CIDEr-D's penalty on differences of length."""
Grams = Sequence[Counter[tuple[int, ...]]]


def most_agreed(hypotheses: Sequence[Sequence[int]], judges: Sequence[Sequence[int]]) -> list[int]:
    """The hypothesis with the highest mean `agreement` with the judges; of equal ones the first."""
    heard = [(ngram_counts(judge), len(judge)) for judge in judges]

    def gain(words: Sequence[int]) -> float:
        counts = ngram_counts(words)
        return sum(agreement(counts, other, len(words) - length) for other, length in heard)

    gains = [gain(words) for words in hypotheses]
    return list(hypotheses[gains.index(max(gains))])


def agreement(caption: Grams, judge: Grams, longer: int) -> float:
    """CIDEr-D of two captions, in [0, 1], with equal weights of all n-grams instead of document frequencies.

    The mean over n = 1 to LONGEST of Σ min(c, j) j / (‖c‖ ‖j‖), c and j the counts of n-grams, times
    exp(−longer² / 2σ²), longer: the difference of their lengths.
    """
    found = 0.0
    for own, other in zip(caption, judge, strict=True):
        norms = sqrt(sum(count * count for count in own.values())) * sqrt(sum(count**2 for count in other.values()))
        if norms:
            shared = sum(min(count, other[gram]) * other[gram] for gram, count in own.items() if gram in other)
            found += shared / norms
    return found / LONGEST * exp(-(longer**2) / (2 * _LENGTH_DEVIATION**2))


def ngram_counts(words: Sequence[int]) -> Grams:
    """How often each n-gram occurs, for n = 1 to LONGEST."""
    return [
        Counter(tuple(words[first : first + size]) for first in range(len(words) - size + 1))
        for size in range(1, LONGEST + 1)
    ]
