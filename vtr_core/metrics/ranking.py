"""Retrieval metrics, defined for ties and for queries without a relevant item; NaN is an error."""

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from vtr_core.metrics.average_precision import average_precision
from vtr_core.metrics.relevance import MetricError, Relevance, diagonal, from_matrix
from vtr_core.metrics.standing import ScoreChunk, Standing, standing
from vtr_core.metrics.ties import TiePolicy, rank, recall_at

QUERY_CHUNK, ITEM_CHUNK = 512, 16384
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
    found: Standing, relevance: Relevance, ks: Sequence[int] = (1, 5, 10), ties: TiePolicy = "expected"
) -> RetrievalMetrics:
    """The metrics of `chunked_retrieval_metrics` from the `Standing` of all relevant items."""
    better, tied = _first_hits(found, relevance)
    num_tied = int((tied > 0).sum())
    if num_tied > TIED_SHARE_TO_WARN * relevance.num_queries:
        _log.warning(
            "%d of %d queries tie with another item, as copies of one clip do (ties: %s)",
            num_tied,
            relevance.num_queries,
            ties,
        )
    failures = np.full(relevance.num_queries - len(better), float(relevance.num_items))
    ranks = np.concatenate([rank(better, tied, ties), failures])
    return RetrievalMetrics(
        recall={k: float(recall_at(k, better, tied, ties).sum() / relevance.num_queries) for k in ks},
        median_rank=float(np.median(ranks)),
        mean_rank=float(ranks.mean()),
        mean_average_precision=float(average_precision(found, relevance, ties).mean()),
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


def _first_hits(found: Standing, relevance: Relevance) -> tuple[np.ndarray, np.ndarray]:
    """`better` and `tied` of the best relevant item of every query that has one."""
    best = relevance.offsets[:-1][relevance.counts > 0]
    return found.higher[best], found.equal[best] - found.relevant_equal[best]
