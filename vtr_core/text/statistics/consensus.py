"""Consensus of captions: tf-idf vectors of n-grams and their cosine similarities (CIDEr)."""

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from jaxtyping import Bool, Float64, Int64

from vtr_core.text.tokens.ngrams import LONGEST, NGrams

SIGMA = 6.0
"""σ of the length penalty."""
SCALE = 10.0
"""Factor that mean similarities are multiplied by."""
_PAIRS = 4_000_000
"""Pairs of entries that are compared at once; bounds the memory."""


@dataclass(frozen=True)
class Weighted:
    """tf-idf vectors: `weight[e]` = count · idf of entry e of `grams`; `norm[n, i]` is the length of caption i's vector
    of n-grams of n + 1 words."""

    grams: NGrams
    weight: Float64[np.ndarray, " entries"]
    norm: Float64[np.ndarray, "orders captions"]

    @property
    def direction(self) -> Float64[np.ndarray, " entries"]:
        """Weights divided by the length of their vector; 0 in a vector of length 0."""
        length = self.norm[self.grams.order, self.grams.caption]
        return np.divide(self.weight, length, out=np.zeros_like(self.weight), where=length > 0)


def inverse_document_frequency(
    grams: NGrams, document: Int64[np.ndarray, " captions"], references: Bool[np.ndarray, " captions"]
) -> Float64[np.ndarray, " grams"]:
    """ln N − ln max(1, df): N documents, df of them hold the n-gram in a reference (Vedantam et al. 2015).

    document: of every caption, counted from 0; all captions of a video are one document.
    """
    found = grams.of(references)
    pairs = np.sort(document[found.caption] * max(1, grams.num_grams) + found.gram)
    distinct = pairs[np.flatnonzero(np.diff(pairs, prepend=-1))]
    frequency = np.bincount(distinct % max(1, grams.num_grams), minlength=grams.num_grams)
    num_documents = int(np.count_nonzero(np.bincount(document[references])))
    return np.log(max(1, num_documents)) - np.log(np.maximum(1, frequency))


def weighted(grams: NGrams, idf: Float64[np.ndarray, " grams"]) -> Weighted:
    """The tf-idf vectors of all captions, with raw counts as tf."""
    weight = grams.count * idf[grams.gram]
    place, captions = grams.order * len(grams.words) + grams.caption, len(grams.words)
    squares = np.bincount(place, weight**2, LONGEST * captions)
    return Weighted(grams, weight, np.sqrt(squares).reshape(LONGEST, captions))


def consensus(
    vectors: Weighted,
    document: Int64[np.ndarray, " captions"],
    hypotheses: Bool[np.ndarray, " captions"],
    references: Bool[np.ndarray, " captions"],
) -> Float64[np.ndarray, " captions"]:
    """CIDEr-D of every hypothesis against the references of its document (Vedantam et al. 2015).

    10 · mean over n and references r ≠ h of Σ_g min(h_g, r_g) · r_g / (‖h‖ ‖r‖) · exp(−(Δ length)² / 2σ²). The length
    is the number of 2-grams, as in the published code; Δ differs from a difference in words only for empty captions. A
    caption that is both hypothesis and reference is not compared with itself. NaN for a hypothesis without a reference,
    and for captions that are not hypotheses. Time grows with the number of pairs of entries that share an n-gram; they
    are processed in blocks, which bounds the memory.
    """
    grams, captions = vectors.grams, len(document)
    total = np.zeros(captions)
    held = np.flatnonzero(references[grams.caption])
    key = document[grams.caption] * max(1, grams.num_grams) + grams.gram
    held = held[np.argsort(key[held], kind="stable")]
    asked = np.flatnonzero(hypotheses[grams.caption])
    first, last = (np.searchsorted(key[held], key[asked], side) for side in ("left", "right"))
    for some in _blocks(last - first):
        h = np.repeat(asked[some], (last - first)[some])
        r = held[_ranges(first[some], last[some])]
        total += np.bincount(grams.caption[h], _agreement(vectors, h, r), captions)
    compared = np.bincount(document[references], minlength=document.max(initial=-1) + 1)[document] - references
    return np.where(hypotheses & (compared > 0), SCALE * total / (LONGEST * np.maximum(1, compared)), np.nan)


def _blocks(pairs: Int64[np.ndarray, " asked"]) -> list[slice]:
    """Consecutive slices that cover all entries, in order, with about _PAIRS pairs each."""
    ends = np.searchsorted(np.cumsum(pairs), np.arange(_PAIRS, pairs.sum(), _PAIRS)) + 1
    cuts = np.unique(np.concatenate([[0], ends, [len(pairs)]]))
    return [slice(int(begin), int(end)) for begin, end in pairwise(cuts)]


def _agreement(
    vectors: Weighted, h: Int64[np.ndarray, " pairs"], r: Int64[np.ndarray, " pairs"]
) -> Float64[np.ndarray, " pairs"]:
    """The contribution of the n-gram shared by entries h and r to the similarity of their captions."""
    grams, weight = vectors.grams, vectors.weight
    one, other = grams.caption[h], grams.caption[r]
    lengths = np.maximum(grams.words - 1, 0)
    apart = lengths[one] - lengths[other]
    norms = vectors.norm[grams.order[h], one] * vectors.norm[grams.order[h], other]
    product = np.minimum(weight[h], weight[r]) * weight[r] * np.exp(-(apart**2) / (2 * SIGMA**2)) * (one != other)
    return np.divide(product, norms, out=np.zeros_like(product), where=norms > 0)


def _ranges(first: Int64[np.ndarray, " some"], last: Int64[np.ndarray, " some"]) -> Int64[np.ndarray, " total"]:
    """first[0], …, last[0] − 1, first[1], …, last[1] − 1, …"""
    counts = last - first
    return np.arange(counts.sum()) + np.repeat(first - (np.cumsum(counts) - counts), counts)
