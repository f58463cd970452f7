"""Retrieval figures after a normalisation at test time, to be reported beside the plain ones."""

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
"""The directions that a bank of captions can normalise."""


@dataclass(frozen=True)
class Bank:
    """Embedded captions of a data set that is not tested, all with a known word, and where they come from."""

    vectors: Float[Tensor, "captions dim"]
    uri: str

    @property
    def entries(self) -> Entries:
        """The bank as queries; nothing matches them."""
        count = len(self.vectors)
        return Entries((self.vectors,), (np.ones(count, bool),), np.full(count, -1, np.int64))


def evaluate_dual_softmax(rows: EmbeddedRows, similarity: SimilarityKind, temperature: float) -> list[Direction]:
    """The directions of `rankings` with `dual_softmax` over all queries of each, those without a known word left out.

    Every figure depends on the whole set of test queries.
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
    """Text → video and text → video+audio with `query_bank`: every query is answered on its own, given the bank."""
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
