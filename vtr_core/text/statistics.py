"""Statistics of captions: n-grams, rarity, consensus (CIDEr), information content, shared captions."""

from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import assert_never

import numpy as np
from jaxtyping import Bool, Float64, Int64

from vtr_core.config.losses import Reading
from vtr_core.errors import DatasetError

LONGEST = 4
"""The longest n-grams, in words."""


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

    def of(self, captions: Bool[np.ndarray, " captions"]) -> "NGrams":
        """The entries of some of the captions; ids of n-grams and numbers of captions stay the same."""
        chosen = captions[self.caption]
        caption, gram, order, count = self.caption[chosen], self.gram[chosen], self.order[chosen], self.count[chosen]
        return NGrams(caption, gram, order, count, self.words, self.num_grams)


def ngrams(captions: Sequence[Sequence[Hashable]], longest: int = LONGEST) -> NGrams:
    """The n-grams of 1 to `longest` words of every caption, which is given as its words."""
    ids: dict[Hashable, int] = {}
    word = np.fromiter((ids.setdefault(word, len(ids)) for words in captions for word in words), np.int64)
    lengths = np.fromiter((len(words) for words in captions), np.int64, len(captions))
    caption = np.repeat(np.arange(len(captions)), lengths)
    rest = np.repeat(np.cumsum(lengths), lengths) - np.arange(len(word))
    first, gram, num_grams = np.arange(len(word)), word, 0
    parts = []
    for order in range(longest):
        if order:  # a longer n-gram is a shorter one followed by one more word
            follows = rest[first] > order
            first = first[follows]
            code = gram[follows] * max(1, len(ids)) + word[first + order]
            gram = np.unique(code, return_inverse=True)[1].astype(np.int64)
        distinct = int(gram.max(initial=-1)) + 1
        pair, count = np.unique(caption[first] * max(1, distinct) + gram, return_counts=True)
        owner, own = np.divmod(pair, max(1, distinct))
        parts.append((owner, own + num_grams, np.full(len(pair), order), count.astype(np.int64)))
        num_grams += distinct
    owner, gram, orders, count = (np.concatenate(columns) for columns in zip(*parts, strict=True))
    return NGrams(owner, gram, orders, count, lengths, num_grams)


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
    own = grams.of(references)
    pairs = np.sort(document[own.caption] * max(1, grams.num_grams) + own.gram)
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
    queried = np.flatnonzero(hypotheses[grams.caption])
    first, last = (np.searchsorted(key[held], key[queried], side) for side in ("left", "right"))
    for some in _blocks(last - first):
        h = np.repeat(queried[some], (last - first)[some])
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
    own, other = grams.caption[h], grams.caption[r]
    lengths = np.maximum(grams.words - 1, 0)
    apart = lengths[own] - lengths[other]
    norms = vectors.norm[grams.order[h], own] * vectors.norm[grams.order[h], other]
    product = np.minimum(weight[h], weight[r]) * weight[r] * np.exp(-(apart**2) / (2 * SIGMA**2)) * (own != other)
    return np.divide(product, norms, out=np.zeros_like(product), where=norms > 0)


def _ranges(first: Int64[np.ndarray, " some"], last: Int64[np.ndarray, " some"]) -> Int64[np.ndarray, " total"]:
    """first[0], …, last[0] − 1, first[1], …, last[1] − 1, …"""
    counts = last - first
    return np.arange(counts.sum()) + np.repeat(first - (np.cumsum(counts) - counts), counts)


def information(
    captions: Sequence[Sequence[str]], document: Int64[np.ndarray, " captions"], reading: Reading
) -> Float64[np.ndarray, " captions"]:
    """The information content of every caption, given as its words; `document` is its video, counted from 0.

    Document frequencies are computed over the given captions, with all captions of a video as one document (Gu and Yao
    2023, section 2.1; the paper does not say what a sentence is compared with, hence three definitions):

    - leave_one_out: CIDEr-D against the other captions of its video. Low: it agrees with none of them. Undefined for
      the only caption of a video; such a caption gets the mean of all defined values, so that it is neither common nor
      rare.
    - corpus: 10 · mean over n and over all captions c of cos(caption, c), computed as a product with the mean
      direction.
    - idf: the mean idf of its n-grams of all lengths, 0 without any. High: rare words.

    Raises DatasetError where leave_one_out is defined for no caption.
    """
    grams = ngrams(captions)
    every = np.ones(len(document), bool)
    vectors = weighted(grams, inverse_document_frequency(grams, document, every))
    match reading:
        case "leave_one_out":
            return _with_mean(consensus(vectors, document, every, every))
        case "corpus":
            return _against_mean(vectors)
        case "idf":
            return _mean_idf(vectors)
        case _:
            assert_never(reading)


def _with_mean(values: Float64[np.ndarray, " captions"]) -> Float64[np.ndarray, " captions"]:
    defined = ~np.isnan(values)
    if not defined.any():
        raise DatasetError(
            "no video has two captions, so leave_one_out compares none; use the reading corpus or idf instead"
        )
    return np.where(defined, values, values[defined].mean())


def _against_mean(vectors: Weighted) -> Float64[np.ndarray, " captions"]:
    """`corpus` in time linear in the entries: mean of cosines = product with the mean direction, summed over n."""
    grams, direction, captions = vectors.grams, vectors.direction, len(vectors.grams.words)
    mean = np.bincount(grams.gram, direction, grams.num_grams) / max(1, captions)
    return SCALE / LONGEST * np.bincount(grams.caption, direction * mean[grams.gram], captions)


def _mean_idf(vectors: Weighted) -> Float64[np.ndarray, " captions"]:
    grams, captions = vectors.grams, len(vectors.grams.words)
    mass = np.bincount(grams.caption, vectors.weight, captions)
    return mass / np.maximum(1, np.bincount(grams.caption, grams.count, captions))


@dataclass(frozen=True)
class CaptionOverlap:
    """`surplus` of the `captions` captions repeat a caption of another video."""

    captions: int
    surplus: int

    @property
    def share(self) -> float:
        """surplus / captions; 0 where there are no captions."""
        return self.surplus / self.captions if self.captions else 0.0


def caption_overlap(captions_of: Iterable[Sequence[str]]) -> CaptionOverlap:
    """The surplus Σ over distinct captions of (videos with this caption − 1), and the number of captions.

    captions_of: the captions of each video. Captions are equal where their texts are, character by character; one that
    occurs twice in the same video counts once for it.
    """
    total, videos_with = 0, Counter[str]()
    for captions in captions_of:
        total += len(captions)
        videos_with.update(set(captions))
    return CaptionOverlap(total, sum(count - 1 for count in videos_with.values()))
