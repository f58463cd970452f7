"""Expected metrics of a random ranking, to be printed next to a result."""

from collections.abc import Sequence

import numpy as np
from jaxtyping import Float, Int

from vtr_core.metrics.average_precision import expected_precision
from vtr_core.metrics.ranking import MissingPolicy, RetrievalMetrics, check_relevance
from vtr_core.metrics.relevance import Relevance

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
    precision = _expected_average_precision(counts[counts > 0], relevance.num_items)
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


def _expected_average_precision(counts: Int[np.ndarray, " kinds"], num_items: int) -> Float[np.ndarray, " kinds"]:
    """The expected AP of a random ranking, which is that of all items tied."""
    none, everything = np.zeros_like(counts), np.full_like(counts, num_items)
    return expected_precision(none, everything, none, counts, num_items)
