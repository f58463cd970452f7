"""BLEU of a set of captions."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float64, Int64

from vtr_core.text.tokens.ngrams import LONGEST, NGrams

_SMALL, _TINY = 1e-9, 1e-15
"""Constants that the published code adds to denominators and numerators, against division by 0."""


@dataclass(frozen=True)
class BleuCounts:
    """Per hypothesis: its words, those of the reference nearest in length (on a tie the shorter), and how many of its
    n-grams occur in a reference, each clipped at its largest count in any one reference.
    """

    words: Int64[np.ndarray, " items"]
    reference_words: Int64[np.ndarray, " items"]
    possible: Int64[np.ndarray, "items orders"]
    """n-grams of the hypothesis."""
    matched: Float64[np.ndarray, "items orders"]

    def total(self) -> "BleuCounts":
        """The sums over all hypotheses, as counts of a single one, for corpus BLEU."""
        return BleuCounts(
            self.words.sum(keepdims=True),
            self.reference_words.sum(keepdims=True),
            self.possible.sum(0, keepdims=True),
            self.matched.sum(0, keepdims=True),
        )


def bleu_counts(
    grams: NGrams, document: Int64[np.ndarray, " captions"], hypotheses: Bool[np.ndarray, " captions"]
) -> BleuCounts:
    """The counts of the hypotheses, document by document; all other captions are references of their document.

    Every document 0, 1, … has exactly one hypothesis and at least one reference.
    """
    width, items = max(1, grams.num_grams), int(hypotheses.sum())
    own, others = grams.of(hypotheses), grams.of(~hypotheses)
    key = document[others.caption] * width + others.gram
    order = np.argsort(key, kind="stable")
    keys, first = np.unique(key[order], return_index=True)
    most = np.maximum.reduceat(others.count[order], first) if len(first) else others.count[:0]
    wanted = document[own.caption] * width + own.gram
    place = np.searchsorted(keys, wanted)
    known = place < len(keys)
    known[known] = keys[place[known]] == wanted[known]
    matched = np.zeros(len(wanted), np.int64)
    matched[known] = np.minimum(own.count[known], most[place[known]])
    cell = document[own.caption] * LONGEST + own.order
    words = np.zeros(items, np.int64)
    words[document[hypotheses]] = grams.words[hypotheses]
    return BleuCounts(
        words,
        _nearest(words, grams.words[~hypotheses], document[~hypotheses]),
        np.maximum(0, words[:, None] - np.arange(LONGEST)),
        np.bincount(cell, matched, items * LONGEST).reshape(items, LONGEST).astype(np.float64),
    )


def bleu_of(counts: BleuCounts) -> Float64[np.ndarray, "items orders"]:
    """BLEU-1, …, BLEU-4 of every item: brevity penalty · (p₁ … p_n)^(1/n) (Papineni et al. 2002).

    For an empty hypothesis 0, up to the published code's small constants, which are kept.
    """
    precision = (counts.matched + _TINY) / (counts.possible + _SMALL)
    score = np.cumprod(precision, axis=1) ** (1.0 / np.arange(1, LONGEST + 1))
    ratio = (counts.words + _TINY) / (counts.reference_words + _SMALL)
    penalty = np.exp(np.minimum(0.0, 1.0 - 1.0 / ratio))
    return score * penalty[:, None]


def _nearest(
    words: Int64[np.ndarray, " items"],
    reference_words: Int64[np.ndarray, " references"],
    item: Int64[np.ndarray, " references"],
) -> Int64[np.ndarray, " items"]:
    """The number of words of each item's reference that is nearest in length."""
    order = np.lexsort((reference_words, np.abs(reference_words - words[item]), item))
    items, first = np.unique(item[order], return_index=True)
    nearest = np.zeros(len(words), np.int64)
    nearest[items] = reference_words[order][first]
    return nearest
