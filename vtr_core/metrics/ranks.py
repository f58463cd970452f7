"""Ranks of matching items under ties, and scores corrected for hubs: dual softmax, query-bank normalisation.

These corrections use more than the query being answered, so they are reported beside the plain metrics, never instead
of them. Exponentials of similarities can overflow or underflow, so everything is computed from logarithms.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal, TypeVar

import numpy as np
from jaxtyping import Bool, Float, Float64, Int, Int64, Real

from vtr_core.errors import VtrError

TiePolicy = Literal["expected", "optimistic", "pessimistic"]
"""expected: the mean over random orders of the tied items; optimistic: relevant items first; pessimistic: last."""

Counts = Int[np.ndarray, " queries"]
Values = Float[np.ndarray, " queries"]


def recall_at(k: int, better: Counts, tied: Counts, ties: TiePolicy) -> Values:
    """Recall at k of each query: whether its best relevant item is in the top k, expected over ties; in [0, 1].

    better: items scored strictly higher than the best-scored relevant item; tied: other items with exactly its score.
    expected: clip((k − better) / (tied + 1), 0, 1).   optimistic: better < k.   pessimistic: better + tied < k.
    """
    match ties:
        case "expected":
            return np.clip((k - better) / (tied + 1), 0.0, 1.0)
        case "optimistic":
            return (better < k).astype(np.float64)
        case "pessimistic":
            return (better + tied < k).astype(np.float64)


def rank(better: Counts, tied: Counts, ties: TiePolicy) -> Values:
    """The 1-based rank of the best relevant item.

    expected: better + 1 + tied / 2.   optimistic: better + 1.   pessimistic: better + tied + 1.
    """
    match ties:
        case "expected":
            return better + 1 + tied / 2
        case "optimistic":
            return better + 1.0
        case "pessimistic":
            return better + tied + 1.0


class MetricError(VtrError):
    """Scores or relevance for which a metric is undefined."""


@dataclass(frozen=True)
class Relevance:
    """The relevant items of query q are `items[offsets[q] : offsets[q + 1]]`, in ascending order."""

    items: Int[np.ndarray, " pairs"]
    offsets: Int[np.ndarray, " queries_and_one"]
    num_items: int

    @property
    def num_queries(self) -> int:
        """Number of queries, including those without a relevant item."""
        return len(self.offsets) - 1

    @property
    def counts(self) -> Int[np.ndarray, " queries"]:
        """Number of relevant items per query."""
        return np.diff(self.offsets)

    def only(self, queries: Bool[np.ndarray, " queries"]) -> "Relevance":
        """The same relevance, except that nothing is relevant to the queries where `queries` is false."""
        pairs = np.repeat(queries, self.counts)
        return Relevance(self.items[pairs], _offsets(self.counts * queries), self.num_items)

    def slice(self, queries: slice) -> "Relevance":
        """The relevance of a contiguous range of queries."""
        offsets = self.offsets[queries.start : queries.stop + 1]
        return Relevance(self.items[offsets[0] : offsets[-1]], offsets - offsets[0], self.num_items)


def diagonal(num_queries: int) -> Relevance:
    """Item i is the one that is relevant to query i."""
    return Relevance(np.arange(num_queries), np.arange(num_queries + 1), num_queries)


def from_matrix(relevant: Bool[np.ndarray, "queries items"]) -> Relevance:
    """Item j is relevant to query i where `relevant[i, j]`."""
    return Relevance(np.nonzero(relevant)[1], _offsets(relevant.sum(axis=1)), relevant.shape[1])


def from_labels(query_labels: Int[np.ndarray, " queries"], item_labels: Int[np.ndarray, " items"]) -> Relevance:
    """Item j is relevant to query i where their labels are equal (a label is for instance the video's key)."""
    order = np.argsort(item_labels, kind="stable")
    ordered = item_labels[order]
    first = np.searchsorted(ordered, query_labels, side="left")
    counts = np.searchsorted(ordered, query_labels, side="right") - first
    offsets = _offsets(counts)
    within = np.arange(offsets[-1]) - np.repeat(offsets[:-1], counts)
    return Relevance(order[np.repeat(first, counts) + within], offsets, len(item_labels))


def _offsets(counts: Int[np.ndarray, " queries"]) -> Int[np.ndarray, " queries_and_one"]:
    return np.concatenate([np.zeros(1, np.int64), np.cumsum(counts, dtype=np.int64)])


FEW = 16
"""Up to this number of relevant items of a query each is compared with all other scores; with more, scores are sorted
and searched, which costs as much as about thirty comparisons.
"""
KEPT_SCORES = 2**25
"""Number of scores, of blocks with relevant items, that are kept for counting: 128 MiB of float32."""

ScoreChunk = Callable[[slice, slice], np.ndarray]
"""(queries, items) → their scores, higher is better; the same slices must give the same scores every time."""


@dataclass(frozen=True)
class Standing:
    """One entry per pair of a query and one of its relevant items: queries in order, the best-scored item first.

    higher, equal: items with a strictly higher score and with exactly this score, itself included.
    relevant_higher, relevant_equal: those of them that are relevant to the query.
    """

    higher: Int[np.ndarray, " pairs"]
    equal: Int[np.ndarray, " pairs"]
    relevant_higher: Int[np.ndarray, " pairs"]
    relevant_equal: Int[np.ndarray, " pairs"]


def standing(score_chunk: ScoreChunk, relevance: Relevance, query_chunk: int, item_chunk: int) -> Standing:
    """The `Standing` of all relevant items.

    Holds one (query_chunk, item_chunk) block of scores at a time, and at most KEPT_SCORES scores of blocks with
    relevant items: all scores of relevant items are needed before counting begins, so further such blocks are computed
    twice. Raises MetricError for a score that is not finite, with its query.
    """
    counts = PairCounts(relevance)
    for queries in slices(relevance.num_queries, query_chunk):
        blocks: dict[int, np.ndarray] = {}
        for items in slices(relevance.num_items, item_chunk):
            if counts.relevant_in(queries, items):
                block = score_chunk(queries, items)
                counts.take(queries, items, block)
                keep(blocks, items.start, block)
        for items in slices(relevance.num_items, item_chunk):
            held = items.start in blocks
            counts.count(queries, blocks.pop(items.start) if held else score_chunk(queries, items))
    return counts.standing()


Key = TypeVar("Key")


def keep(blocks: dict[Key, np.ndarray], name: Key, block: np.ndarray) -> None:
    """Keep a block for counting, unless that would exceed KEPT_SCORES kept scores."""
    if sum(other.size for other in blocks.values()) + block.size <= KEPT_SCORES:
        blocks[name] = block


class PairCounts:
    """Accumulates the `Standing` of all relevant items from blocks of scores that come in any order, each exactly once.

    Blocks with relevant items come twice: all of them to `take`, before any block of the same queries to `count`.
    Arrays have one entry per pair of a query and a relevant item, in the order of `relevance`. If several processes
    count the blocks of different queries or items, the sums of their arrays equal those of one process with all blocks.
    """

    def __init__(self, relevance: Relevance) -> None:
        self._relevance = relevance
        self._rows = np.repeat(np.arange(relevance.num_queries), relevance.counts)
        self.scores = np.zeros(len(self._rows))  # float64 holds every float exactly
        self.higher, self.equal = np.zeros((2, len(self._rows)), np.int64)
        self.not_finite = np.zeros(relevance.num_queries, np.int64)

    def relevant_in(self, queries: slice, items: slice) -> bool:
        """Whether the block of these queries and items has a relevant pair."""
        return len(self._inside(queries, items)) > 0

    def take(self, queries: slice, items: slice, block: Real[np.ndarray, "queries items"]) -> None:
        """Store the scores of the block's relevant pairs."""
        pairs = self._inside(queries, items)
        items_of, rows = self._relevance.items[pairs] - items.start, self._rows[pairs] - queries.start
        self.scores[pairs] = block[rows, items_of]

    def count(self, queries: slice, block: Real[np.ndarray, "queries items"]) -> None:
        """Add the block's items with a higher and with an equal score than the relevant items of its queries."""
        own = self._own(queries)
        self.not_finite[queries] += ~np.isfinite(block).all(axis=1)
        higher, equal = _count(block, self.scores[own], self._relevance.slice(queries))
        self.higher[own] += higher
        self.equal[own] += equal

    def standing(self) -> Standing:
        """The `Standing`, once all blocks have come; MetricError for a score that is not finite, with its query."""
        if self.not_finite.any():
            raise MetricError(f"query {int(np.argmax(self.not_finite > 0))} has a score that is not finite")
        order = np.lexsort((-self.scores, self._rows))
        scores, relevant = self.scores[order], np.zeros((2, len(order)), np.int64)
        for own in _pairs_by_query(self._relevance):  # among the relevant items of the same query
            relevant[:, own] = _higher_and_equal(scores[own][::-1], scores[own])
        return Standing(self.higher[order], self.equal[order], *relevant)

    def _own(self, queries: slice) -> slice:
        return slice(*(int(self._relevance.offsets[end]) for end in (queries.start, queries.stop)))

    def _inside(self, queries: slice, items: slice) -> Int[np.ndarray, " pairs"]:
        own = self._own(queries)
        relevant = self._relevance.items[own]
        return own.start + np.flatnonzero((relevant >= items.start) & (relevant < items.stop))


def _count(
    block: Real[np.ndarray, "queries items"], scores: Float64[np.ndarray, " pairs"], relevance: Relevance
) -> Int[np.ndarray, "2 pairs"]:
    """Items of the block with a higher score, and with an equal one, for every pair."""
    counts = np.zeros((2, len(scores)), np.int64)
    exact = scores.astype(block.dtype)
    for row, own in zip(block, _pairs_by_query(relevance), strict=True):
        if own.stop - own.start > FEW:
            counts[:, own] = _higher_and_equal(np.sort(row), scores[own])
            continue
        for pair in range(own.start, own.stop):
            counts[0, pair] = np.count_nonzero(row > exact[pair])
            counts[1, pair] = np.count_nonzero(row == exact[pair])
    return counts


def _higher_and_equal(
    ascending: Real[np.ndarray, " values"], scores: Float64[np.ndarray, " own"]
) -> Int[np.ndarray, "2 own"]:
    exact = scores.astype(ascending.dtype)
    up_to = np.searchsorted(ascending, exact, side="right")
    return np.stack([len(ascending) - up_to, up_to - np.searchsorted(ascending, exact, side="left")])


def _pairs_by_query(relevance: Relevance) -> Iterator[slice]:
    return (slice(begin, end) for begin, end in pairwise(relevance.offsets.tolist()))


def slices(length: int, chunk: int) -> Iterator[slice]:
    """Consecutive ranges of at most `chunk`."""
    return (slice(start, min(start + chunk, length)) for start in range(0, length, chunk))


QUERY_CHUNK, ITEM_CHUNK = 512, 16384

Scores = Real[np.ndarray, "queries items"]
Normalized = Float[np.ndarray, "queries items"]


def log_sums(
    score_chunk: ScoreChunk,
    num_queries: int,
    num_items: int,
    temperature: float,
    counted: Bool[np.ndarray, " queries"] | None = None,
) -> Float[np.ndarray, " items"]:
    """L_j = log Σ_i exp(S_ij / τ) over the queries i, or over the `counted` ones; −∞ where there are none.

    Holds one block of scores at a time.
    """
    total = np.full(num_items, -np.inf)
    for queries in slices(num_queries, QUERY_CHUNK):
        rows = slice(None) if counted is None else counted[queries]
        for items in slices(num_items, ITEM_CHUNK):
            block = score_chunk(queries, items)[rows] / np.float64(temperature)
            total[items] = np.logaddexp(total[items], np.logaddexp.reduce(block, axis=0, initial=-np.inf))
    return total


def best_items(score_chunk: ScoreChunk, num_queries: int, num_items: int) -> Int64[np.ndarray, " queries"]:
    """The item that scores highest for each query, the first one on a tie."""
    best = np.zeros(num_queries, np.int64)
    score = np.full(num_queries, -np.inf)
    for queries in slices(num_queries, QUERY_CHUNK):
        for items in slices(num_items, ITEM_CHUNK):
            block = score_chunk(queries, items)
            highest = block.max(axis=1)
            better = highest > score[queries]
            best[queries] = np.where(better, block.argmax(axis=1) + items.start, best[queries])
            score[queries] = np.where(better, highest, score[queries])
    return best


def dual_softmax(
    scores: Scores, sums: Float[np.ndarray, " items"], temperature: float, never_positive: bool = False
) -> Normalized:
    """Scores that order the items of a query like S′_ij = S_ij · P_ij, P_ij = exp(S_ij/τ) / Σ_q exp(S_qj/τ).

    P is the softmax over *all* test queries q; `sums` are the logarithms of its denominators. Source: Cheng et al. 2021
    (CAMoE), the dual softmax at test time. Where a similarity is minus a distance, S is negative and its product with P
    would put hubs first; there S is replaced by exp(S_ij).

    The value is sign(S) g(log |S P|) with the increasing g(x) = 1 + x for x ≥ 0, 1 / (1 − x) below, and 0 for S = 0: it
    keeps the order of S P even where P is too small for a float.
    """
    values = scores.astype(np.float64)
    log_share = values / temperature - sums
    if never_positive:
        return values + log_share
    with np.errstate(divide="ignore"):
        x = np.log(np.abs(values)) + log_share
    size = np.where(x >= 0, 1 + x, 1 / (1 - np.minimum(x, 0)))
    return np.sign(values) * size


def query_bank(
    scores: Scores,
    sums: Float[np.ndarray, " items"],
    temperature: float,
    active: Bool[np.ndarray, " queries"],
) -> Normalized:
    """QB-Norm with the dynamic inverted softmax: for `active` queries scores that order the items like
    exp(S_ij/τ) / Σ_b exp(S_bj/τ), for the others S itself.

    b runs over the captions of the query bank, and `sums` are the logarithms of the denominators. A query is active
    where its top-1 item is also the top-1 item of at least one caption of the bank (an activation set of the top 1).
    Source: Bogolin et al. 2022, with β = 1/τ. The value is S/τ − log Σ_b exp(S_bj/τ), which has the same order.
    """
    values = scores.astype(np.float64)
    return np.where(active[:, None], values / temperature - sums, values)
