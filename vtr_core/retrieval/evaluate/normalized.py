"""Retrieval metrics with test-time normalisation of scores, reported beside the plain ones."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float
from torch import Tensor

from vtr_core.metrics.normalization import best_items, dual_softmax, log_sums, query_bank
from vtr_core.metrics.standing import ScoreChunk
from vtr_core.retrieval.embed.clips import EmbeddedRows
from vtr_core.retrieval.evaluate.entries import Entries
from vtr_core.retrieval.evaluate.retrieval import Direction, Ranking, figures, rankings
from vtr_core.retrieval.evaluate.scoring import block_scores
from vtr_core.similarity import SimilarityKind, never_positive

TEXT_QUERIES = ("t2v", "t2va")
"""The directions with caption queries, which a bank of captions can normalise."""


@dataclass(frozen=True)
class Bank:
    """Embedded captions, all with a known word, of a data set that is not tested, and their source."""

    vectors: Float[Tensor, "captions dim"]
    uri: str

    @property
    def entries(self) -> Entries:
        """The bank as queries without relevant items."""
        count = len(self.vectors)
        return Entries((self.vectors,), (np.ones(count, bool),), np.full(count, -1, np.int64))


def evaluate_dual_softmax(rows: EmbeddedRows, similarity: SimilarityKind, temperature: float) -> list[Direction]:
    """The directions of `rankings` with `dual_softmax` over all queries with a known word.

    The metrics depend on the whole set of test queries.
    """
    found = []
    for ranking in rankings(rows):
        scores = ranking.scores(similarity)
        known = ranking.queries.any_present
        sums = log_sums(scores, *_shape(ranking), temperature, counted=known if known.any() else None)
        found.append(figures(ranking, _dual(scores, sums, temperature, never_positive(similarity))))
    return found


def evaluate_query_bank(
    rows: EmbeddedRows, similarity: SimilarityKind, bank: Bank, temperature: float
) -> list[Direction]:
    """Text → video and text → video+audio with `query_bank`; given the bank, queries are independent of each other."""
    found = []
    for ranking in rankings(rows):
        if ranking.name in TEXT_QUERIES:
            scores = ranking.scores(similarity)
            of_bank = block_scores(bank.entries, ranking.items, similarity)
            num_items = len(ranking.items.key)
            sums = log_sums(of_bank, len(bank.vectors), num_items, temperature)
            hubs = np.unique(best_items(of_bank, len(bank.vectors), num_items))
            active = np.isin(best_items(scores, *_shape(ranking)), hubs)
            found.append(figures(ranking, _banked(scores, sums, temperature, active)))
    return found


def _shape(ranking: Ranking) -> tuple[int, int]:
    return len(ranking.queries.key), len(ranking.items.key)


def _dual(scores: ScoreChunk, sums: np.ndarray, temperature: float, negative: bool) -> ScoreChunk:
    return lambda queries, items: dual_softmax(scores(queries, items), sums[items], temperature, negative)


def _banked(scores: ScoreChunk, sums: np.ndarray, temperature: float, active: np.ndarray) -> ScoreChunk:
    return lambda queries, items: query_bank(scores(queries, items), sums[items], temperature, active[queries])
