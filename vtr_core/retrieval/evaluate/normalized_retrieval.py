"""Retrieval metrics with scores normalised at test time: dual softmax, and a query bank of other captions."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor, nn

from vtr_core.data.manifest import Manifest
from vtr_core.data.plan import row_groups
from vtr_core.data.reading.row_groups import RowGroupReader
from vtr_core.embedding.embedded_rows import EmbeddedRows, embed_captions
from vtr_core.embedding.rankings import Direction, Ranking, figures, rankings
from vtr_core.embedding.scoring import Entries, block_scores
from vtr_core.errors import ConfigError, DatasetError
from vtr_core.metrics.normalization import best_items, dual_softmax, log_sums, query_bank
from vtr_core.metrics.ranks import ScoreChunk
from vtr_core.similarity import SimilarityKind, never_positive
from vtr_core.text.tokens.vocabulary import Vocabulary

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


def check_bank(bank: Manifest, tested: Sequence[Manifest]) -> None:
    """ConfigError where the bank is one of the evaluated data sets, which would leak test queries."""
    for manifest in tested:
        if manifest.fingerprint == bank.fingerprint:
            raise ConfigError(
                f"--query-bank {bank.uri} is the data set that is evaluated; give the captions of a training data set"
            )


def sample_captions(manifest: Manifest, size: int, seed: int) -> list[str]:
    """Captions of `size` rows (all, if fewer) drawn without replacement, a function of (data set, size, seed)."""
    drawn = np.random.default_rng(seed).choice(manifest.rows, min(size, manifest.rows), replace=False)
    wanted = np.zeros(manifest.rows, bool)
    wanted[drawn] = True
    reader = RowGroupReader(manifest, ["caption"])
    captions: list[str] = []
    first = 0
    for place in row_groups(manifest):
        count = sum(manifest.shards[place.shard].row_groups[place.index])
        chosen = np.flatnonzero(wanted[first : first + count])
        if len(chosen):
            captions.extend(reader.read(place)["caption"][chosen].tolist())
        first += count
    return captions


def embed_bank(
    model: nn.Module,
    features: Mapping[str, int],
    vocabulary: Vocabulary,
    manifest: Manifest,
    captions: Sequence[str],
    max_rows: int,
) -> Bank:
    """The bank of the captions with a known word; DatasetError where there are none."""
    vectors, known = embed_captions(model, features, vocabulary, captions, manifest.schema.max_words, max_rows)
    if not known.any():
        raise DatasetError(f"{manifest.uri}: no caption of the bank holds a word that the model knows; give another")
    return Bank(torch.from_numpy(vectors[known]), manifest.uri)
