"""ROUGE-L of captions: the longest common subsequence of words."""

from collections.abc import Mapping, Sequence

BETA = 1.2
"""Weight β of recall against precision."""


def rouge_l_of(hypothesis: Sequence[str], references: Sequence[Sequence[str]]) -> float:
    """(1 + β²) P R / (R + β² P), P and R the best precision and the best recall over the references (Lin 2004).

    The two may come from different references, as in the captioning code that published results use. 0 where no word is
    shared, and for an empty hypothesis.
    """
    places = _places(hypothesis)
    common = [_common(places, len(hypothesis), reference) for reference in references]
    precision = max((length / len(hypothesis) for length in common), default=0.0) if hypothesis else 0.0
    recall = max((n / len(words) for n, words in zip(common, references, strict=True) if words), default=0.0)
    if precision == 0 or recall == 0:
        return 0.0
    return (1 + BETA**2) * precision * recall / (recall + BETA**2 * precision)


def _places(words: Sequence[str]) -> dict[str, int]:
    """The positions of each word as a bit mask."""
    places: dict[str, int] = {}
    for position, word in enumerate(words):
        places[word] = places.get(word, 0) | 1 << position
    return places


def _common(places: Mapping[str, int], length: int, reference: Sequence[str]) -> int:
    """Length of the longest common subsequence; each row of the dynamic program is one integer's bits (Hyyrö 2004)."""
    every = (1 << length) - 1
    row = every
    for word in reference:
        matches = row & places.get(word, 0)
        row = (row + matches | row - matches) & every
    return length - row.bit_count()
