"""Ranks of the relevant items of each query, counted chunk by chunk.

Everything is a count of comparisons, so the result does not depend on how queries and items are cut into chunks.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from jaxtyping import Float64, Int, Real

from vtr_core.metrics.relevance import MetricError, Relevance

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

    Holds one (query_chunk, item_chunk) block of scores at a time. A block with relevant items is computed twice: once
    for the scores to count against, once to count. Raises MetricError for a score that is not finite, with its query.
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
    scores = _relevant_scores(score_chunk, relevance, queries, item_chunk)
    higher, equal = np.zeros((2, len(scores)), np.int64)
    finite = np.ones(relevance.num_queries, bool)
    for items in _slices(relevance.num_items, item_chunk):
        block = score_chunk(queries, items)
        finite &= np.isfinite(block).all(axis=1)
        more_higher, more_equal = _count(block, scores, relevance)
        higher += more_higher
        equal += more_equal
    if not finite.all():
        raise MetricError(f"query {queries.start + int(np.argmin(finite))} has a score that is not finite")
    return Standing(higher, equal, *_count_relevant(scores, relevance))


def _relevant_scores(
    score_chunk: ScoreChunk, relevance: Relevance, queries: slice, item_chunk: int
) -> Float64[np.ndarray, " pairs"]:
    """The scores of the relevant items, best first within a query; float64 holds every float exactly."""
    rows = np.repeat(np.arange(relevance.num_queries), relevance.counts)
    scores = np.empty(len(rows))
    for items in _slices(relevance.num_items, item_chunk):
        inside = (relevance.items >= items.start) & (relevance.items < items.stop)
        if inside.any():
            scores[inside] = score_chunk(queries, items)[rows[inside], relevance.items[inside] - items.start]
    return scores[np.lexsort((-scores, rows))]


def _count(
    block: Real[np.ndarray, "queries items"], scores: Float64[np.ndarray, " pairs"], relevance: Relevance
) -> Int[np.ndarray, "2 pairs"]:
    """Items of the block with a higher score, and with an equal one, for every pair."""
    ordered = np.sort(block, axis=1)
    counts = np.zeros((2, len(scores)), np.int64)
    for row, own in enumerate(_pairs_by_query(relevance)):
        counts[:, own] = _higher_and_equal(ordered[row], scores[own])
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
