"""Retrieval metrics, defined for ties and for queries without a relevant item, and those of chance."""

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from jaxtyping import Float
from numpy.typing import ArrayLike

from vtr_core.metrics.average_precision import average_precision, expected_precision
from vtr_core.metrics.ranks import (
    ITEM_CHUNK,
    QUERY_CHUNK,
    MetricError,
    Relevance,
    ScoreChunk,
    Standing,
    TiePolicy,
    diagonal,
    from_matrix,
    rank,
    recall_at,
    standing,
)

TIED_SHARE_TO_WARN = 0.001
SUM_R_KS = (1, 5, 10)
MissingPolicy = Literal["error", "count_as_failure"]
_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class RetrievalMetrics:
    """Means over the queries: `recall` by k and `mean_average_precision` in [0, 1], ranks from 1.

    `num_tied` queries have another item with exactly the score of their best relevant one; `ties` is the policy used.
    """

    recall: dict[int, float]
    median_rank: float
    mean_rank: float
    mean_average_precision: float
    num_queries: int
    num_items: int
    num_tied: int
    ties: TiePolicy


def retrieval_metrics(
    similarity: ArrayLike,
    relevant: ArrayLike | Relevance | None = None,
    *,
    ks: Sequence[int] = (1, 5, 10),
    ties: TiePolicy = "expected",
    missing: MissingPolicy = "error",
) -> RetrievalMetrics:
    """`chunked_retrieval_metrics` of a matrix (queries, items), a NumPy array or a CPU tensor; higher is better.

    relevant: a boolean matrix of the same shape, or a `Relevance`; by default item i is the one relevant to query i.
    """
    scores = np.asarray(similarity)
    if scores.ndim != 2:
        raise MetricError(f"similarity has the shape {scores.shape}; give one row per query and one column per item")
    relevance = _relevance(scores.shape, relevant)
    return chunked_retrieval_metrics(
        lambda queries, items: scores[queries, items], relevance, ks=ks, ties=ties, missing=missing
    )


def chunked_retrieval_metrics(
    score_chunk: ScoreChunk,
    relevance: Relevance,
    *,
    ks: Sequence[int] = (1, 5, 10),
    ties: TiePolicy = "expected",
    missing: MissingPolicy = "error",
    query_chunk: int = QUERY_CHUNK,
    item_chunk: int = ITEM_CHUNK,
) -> RetrievalMetrics:
    """Recall at `ks`, ranks and mean average precision, without ever holding more than one block of scores.

    Recall and rank of a query are those of its best-scored relevant item, with `better` items scoring strictly higher
    and `tied` irrelevant ones exactly the same; `recall_at` and `rank` define the effect of a tie under `ties`.
    `average_precision` takes all relevant items. The result does not depend on the chunks, bit for bit.

    missing: a query without a relevant item is an error, or with "count_as_failure" has recall and AP 0 and the rank
    `num_items`. Raises MetricError for that, for a score that is not finite (naming the first such query) and for no
    queries at all. Logs a warning when more than 0.1 % of the queries have ties.
    """
    check_relevance(relevance, missing)
    return standing_metrics(standing(score_chunk, relevance, query_chunk, item_chunk), relevance, ks, ties)


def standing_metrics(
    ranks: Standing, relevance: Relevance, ks: Sequence[int] = (1, 5, 10), ties: TiePolicy = "expected"
) -> RetrievalMetrics:
    """The metrics of `chunked_retrieval_metrics` from the `Standing` of all relevant items."""
    best = relevance.offsets[:-1][relevance.counts > 0]  # the best relevant item of every query that has one
    better, tied = ranks.higher[best], ranks.equal[best] - ranks.relevant_equal[best]
    num_tied = int((tied > 0).sum())
    if num_tied > TIED_SHARE_TO_WARN * relevance.num_queries:
        of_queries = num_tied, relevance.num_queries, ties
        _log.warning("%d of %d queries tie with another item, as copies of one clip do (ties: %s)", *of_queries)
    failures = np.full(relevance.num_queries - len(better), float(relevance.num_items))
    rank_of_query = np.concatenate([rank(better, tied, ties), failures])
    return RetrievalMetrics(
        recall={k: float(recall_at(k, better, tied, ties).sum() / relevance.num_queries) for k in ks},
        median_rank=float(np.median(rank_of_query)),
        mean_rank=float(rank_of_query.mean()),
        mean_average_precision=float(average_precision(ranks, relevance, ties).mean()),
        num_queries=relevance.num_queries,
        num_items=relevance.num_items,
        num_tied=num_tied,
        ties=ties,
    )


def sum_r(*directions: RetrievalMetrics) -> float:
    """SumR = Σ over the directions of R@1 + R@5 + R@10, in percent: at most 600 for both.

    Raises MetricError where `ks` left one of the three out.
    """
    for metrics in directions:
        if not metrics.recall.keys() >= set(SUM_R_KS):
            raise MetricError(f"SumR needs recall at {SUM_R_KS}; ks was {tuple(metrics.recall)}")
    return sum(100 * metrics.recall[k] for metrics in directions for k in SUM_R_KS)


def check_relevance(relevance: Relevance, missing: MissingPolicy) -> None:
    """Raise MetricError for no queries, no items, or a query without a relevant item where that is an error."""
    if not relevance.num_queries or not relevance.num_items:
        raise MetricError(f"{relevance.num_queries} queries and {relevance.num_items} items; at least one of each")
    without = np.flatnonzero(relevance.counts == 0)
    if missing == "error" and len(without):
        raise MetricError(
            f"query {without[0]} has no relevant item (nor have {len(without) - 1} others); "
            'drop it, or give missing="count_as_failure"'
        )


def _relevance(shape: tuple[int, ...], relevant: ArrayLike | Relevance | None) -> Relevance:
    if relevant is None:
        if shape[0] != shape[1]:
            raise MetricError(f"a {shape[0]} × {shape[1]} similarity has no diagonal of matches; give relevant")
        return diagonal(shape[0])
    relevance = relevant if isinstance(relevant, Relevance) else from_matrix(np.asarray(relevant))
    if (relevance.num_queries, relevance.num_items) != shape:
        raise MetricError(f"relevant is {relevance.num_queries} × {relevance.num_items}, similarity {shape}")
    return relevance


ROUNDING = 1e-9
"""Cumulative probabilities this close to 1/2 count as 1/2."""


def chance(
    relevance: Relevance, *, ks: Sequence[int] = (1, 5, 10), missing: MissingPolicy = "error"
) -> RetrievalMetrics:
    """The expected metrics of rankings drawn uniformly at random, for queries with this relevance.

    With R of N items relevant, the rank X of the first relevant item has P(X > k) = Π_{i<k} (N − R − i)/(N − i): recall
    at k is the mean over the queries of 1 − P(X > k), the mean rank that of (N + 1)/(R + 1). The median rank is the
    median of X over all queries and rankings together, the midpoint where it lies between two ranks; for one relevant
    item (N + 1)/2. A query without a relevant item, where `missing` allows it, has recall and AP 0 and rank N.
    """
    check_relevance(relevance, missing)
    counts, frequencies = np.unique(relevance.counts, return_counts=True)
    weights = frequencies / relevance.num_queries
    beyond = weights @ np.stack([_beyond(int(count), relevance.num_items) for count in counts])
    some, items = counts[counts > 0], relevance.num_items
    nothing = np.zeros_like(some)  # the expected AP of a random ranking is that of all items tied
    precision = expected_precision(nothing, np.full_like(some, items), nothing, some, items)
    return RetrievalMetrics(
        recall={k: float(1 - beyond[min(k, relevance.num_items)]) for k in ks},
        median_rank=_median(beyond),
        mean_rank=float(weights @ np.minimum((relevance.num_items + 1) / (counts + 1), relevance.num_items)),
        mean_average_precision=float(weights[counts > 0] @ precision),
        num_queries=relevance.num_queries,
        num_items=relevance.num_items,
        num_tied=0,
        ties="expected",
    )


def _beyond(num_relevant: int, num_items: int) -> Float[np.ndarray, " ranks"]:
    """P(the first relevant item is ranked behind k) for k = 0 … num_items."""
    k = np.arange(num_items)
    factors = np.clip(num_items - num_relevant - k, 0, None) / (num_items - k)
    return np.concatenate([[1.0], np.cumprod(factors)])


def _median(beyond: Float[np.ndarray, " ranks"]) -> float:
    """The median rank, at most that of the last item, which is the rank of a query without relevant items."""
    beyond = np.append(beyond[:-1], 0.0)
    lower = np.argmax(beyond <= 0.5 + ROUNDING)
    upper = np.argmax(beyond < 0.5 - ROUNDING)
    return float(lower + upper) / 2
