"""Ranks of the relevant items of each query, counted chunk by chunk.

Everything is a count of comparisons, so the result does not depend on how queries and items are cut into chunks.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from jaxtyping import Float64, Int, Real

from vtr_core.metrics.relevance import MetricError, Relevance

FEW = 16
"""Up to this number of relevant items their scores are compared with all others; more are searched in sorted scores,
which costs as much as about thirty comparisons."""
KEPT_SCORES = 2**25
"""Scores of blocks with relevant items that are kept for counting, 128 MiB of float32."""

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
    """The standing of every relevant item.

    Holds one (query_chunk, item_chunk) block of scores at a time, and at most KEPT_SCORES of blocks with relevant
    items, whose scores are needed before the first is counted; further such blocks are computed twice. Raises
    MetricError for a score that is not finite, with its query.
    """
    parts = [
        _standing_of(score_chunk, relevance.slice(queries), queries, item_chunk)
        for queries in _slices(relevance.num_queries, query_chunk)
    ]
    return Standing(
        higher=np.concatenate([part.higher for part in parts]),
        equal=np.concatenate([part.equal for part in parts]),
        relevant_higher=np.concatenate([part.relevant_higher for part in parts]),
        relevant_equal=np.concatenate([part.relevant_equal for part in parts]),
    )


def _standing_of(score_chunk: ScoreChunk, relevance: Relevance, queries: slice, item_chunk: int) -> Standing:
    """`standing` of the queries of one chunk, whose relevance is `relevance`."""
    kept: dict[int, np.ndarray] = {}
    scores = _relevant_scores(score_chunk, relevance, queries, item_chunk, kept)
    higher, equal = np.zeros((2, len(scores)), np.int64)
    finite = np.ones(relevance.num_queries, bool)
    for items in _slices(relevance.num_items, item_chunk):
        block = kept.pop(items.start, None)
        if block is None:
            block = score_chunk(queries, items)
        finite &= np.isfinite(block).all(axis=1)
        more_higher, more_equal = _count(block, scores, relevance)
        higher += more_higher
        equal += more_equal
    if not finite.all():
        raise MetricError(f"query {queries.start + int(np.argmin(finite))} has a score that is not finite")
    return Standing(higher, equal, *_count_relevant(scores, relevance))


def _relevant_scores(
    score_chunk: ScoreChunk, relevance: Relevance, queries: slice, item_chunk: int, kept: dict[int, np.ndarray]
) -> Float64[np.ndarray, " pairs"]:
    """The scores of the relevant items, best first within a query; float64 holds every float exactly.

    kept: takes the first blocks with relevant items, by their first item.
    """
    rows = np.repeat(np.arange(relevance.num_queries), relevance.counts)
    scores = np.empty(len(rows))
    for items in _slices(relevance.num_items, item_chunk):
        inside = (relevance.items >= items.start) & (relevance.items < items.stop)
        if inside.any():
            block = score_chunk(queries, items)
            scores[inside] = block[rows[inside], relevance.items[inside] - items.start]
            if sum(other.size for other in kept.values()) + block.size <= KEPT_SCORES:
                kept[items.start] = block
    return scores[np.lexsort((-scores, rows))]


def _count(
    block: Real[np.ndarray, "queries items"], scores: Float64[np.ndarray, " pairs"], relevance: Relevance
) -> Int[np.ndarray, "2 pairs"]:
    """Items of the block with a higher score, and with an equal one, for every pair."""
    counts = np.zeros((2, len(scores)), np.int64)
    wanted = scores.astype(block.dtype)
    for row, own in zip(block, _pairs_by_query(relevance), strict=True):
        if own.stop - own.start > FEW:
            counts[:, own] = _higher_and_equal(np.sort(row), scores[own])
            continue
        for pair in range(own.start, own.stop):
            counts[0, pair] = np.count_nonzero(row > wanted[pair])
            counts[1, pair] = np.count_nonzero(row == wanted[pair])
    return counts


def _count_relevant(scores: Float64[np.ndarray, " pairs"], relevance: Relevance) -> Int[np.ndarray, "2 pairs"]:
    """`_count` among the relevant items of the same query."""
    counts = np.zeros((2, len(scores)), np.int64)
    for own in _pairs_by_query(relevance):
        counts[:, own] = _higher_and_equal(scores[own][::-1], scores[own])
    return counts


def _higher_and_equal(
    ascending: Real[np.ndarray, " values"], scores: Float64[np.ndarray, " own"]
) -> Int[np.ndarray, "2 own"]:
    wanted = scores.astype(ascending.dtype)
    up_to = np.searchsorted(ascending, wanted, side="right")
    return np.stack([len(ascending) - up_to, up_to - np.searchsorted(ascending, wanted, side="left")])


def _pairs_by_query(relevance: Relevance) -> Iterator[slice]:
    return (slice(begin, end) for begin, end in pairwise(relevance.offsets.tolist()))


def _slices(length: int, chunk: int) -> Iterator[slice]:
    return (slice(start, min(start + chunk, length)) for start in range(0, length, chunk))
