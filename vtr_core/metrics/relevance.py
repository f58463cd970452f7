"""Relevance of items to queries, as sparse lists instead of a matrix."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Int

from vtr_core.errors import VtrError


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
        kept = np.repeat(queries, self.counts)
        return Relevance(self.items[kept], _offsets(self.counts * queries), self.num_items)

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
