"""Protocols of retrieval beside the plain one: right items by caption, all captions together, normalised scores.

Where a sentence describes several films, the plain protocol counts all but one of them as wrong answers to it. The
captions of a clip may form one item. At test time scores may be normalised by dual softmax, or by a query bank of other
captions.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float, Int64
from scipy.sparse import csr_matrix
from torch import Tensor, nn

from vtr_core.data.manifest import Manifest
from vtr_core.data.plan import row_groups
from vtr_core.data.reading.row_groups import RowGroupReader
from vtr_core.data.records.schema import VideoSchema
from vtr_core.embedding.embedded_rows import EmbeddedRows, embed_captions
from vtr_core.embedding.rankings import (
    VIDEO,
    Direction,
    Entries,
    Ranking,
    block_scores,
    clips,
    figures,
    known_captions,
    rankings,
    visible,
)
from vtr_core.errors import ConfigError, DatasetError
from vtr_core.metrics.ranking import ITEM_CHUNK, QUERY_CHUNK
from vtr_core.metrics.ranks import Relevance, ScoreChunk, best_items, dual_softmax, from_labels, log_sums, query_bank
from vtr_core.nn.embeddings import TEXT
from vtr_core.similarity import SimilarityKind, never_positive
from vtr_core.text.tokens.vocabulary import Vocabulary


class SameCaption:
    """Items that share a caption with the query; a caption's own clip always does.

    A text has its own caption, a clip all captions of its rows. A query without any modality has no relevant items, as
    under the plain protocol.
    """

    def __init__(self, rows: EmbeddedRows, caption_key: Int64[np.ndarray, " rows"]) -> None:
        self._clips, clip = np.unique(rows.clip_key, return_inverse=True)
        distinct, self._caption = np.unique(caption_key, return_inverse=True)
        shape = (len(self._clips), len(distinct))
        self._of_clips = csr_matrix((np.ones(len(clip), np.int64), (clip, self._caption)), shape)
        self._count = len(distinct)

    def __call__(self, queries: Entries, items: Entries) -> Relevance:
        """The items that are right for each query."""
        shared = self._captions(queries) @ self._captions(items).T
        shared.sort_indices()
        relevance = Relevance(shared.indices.astype(np.int64), shared.indptr.astype(np.int64), len(items.key))
        return relevance.only(queries.any_present)

    def _captions(self, entries: Entries) -> csr_matrix:
        """(entries, captions), above 0 where an entry has a caption."""
        if entries.names != (TEXT,):
            return self._of_clips[np.searchsorted(self._clips, entries.key)]
        assert entries.rows is not None, "a caption is a row"
        own = self._caption[entries.rows]
        return csr_matrix((np.ones(len(own), np.int64), (np.arange(len(own)), own)), (len(own), self._count))


def caption_keys(manifest: Manifest) -> Int64[np.ndarray, " rows"]:
    """The key of each caption's text, in the order of the rows of an embedded data set."""
    if isinstance(manifest.schema, VideoSchema):
        reader = RowGroupReader(manifest, ["caption_keys"])
        groups = [reader.read_arrow(place)["caption_keys"] for place in row_groups(manifest)]
        return np.concatenate([group.flatten().to_numpy(zero_copy_only=False) for group in groups])
    reader = RowGroupReader(manifest, ["caption_key"])
    return np.concatenate([reader.read(place)["caption_key"] for place in row_groups(manifest)])


def best_captions(rows: EmbeddedRows, similarity: SimilarityKind) -> list[Direction]:
    """s(v, u) = the greatest sim(v, c) over the captions c of clip u that have a known word.

    Video to text where clips have several captions, as CLIP4Clip evaluates MSVD: a clip takes one place, however many
    captions it has. Clips without a known caption are neither queries nor items. Blocks of clips × captions are scored
    and reduced one at a time: at most QUERY_CHUNK × ITEM_CHUNK scores, more where a single clip has more captions.
    """
    if VIDEO not in visible(rows) or TEXT not in rows.vectors:
        return []
    texts, seen = known_captions(rows), clips(rows, [VIDEO])
    queries = seen.select(np.isin(seen.key, texts.key))
    if not len(queries.key):
        return []
    texts = texts.select(np.argsort(texts.key, kind="stable"))
    items, first = np.unique(texts.key, return_index=True)
    starts = np.append(first, len(texts.key))
    scores = block_scores(queries, texts, similarity)

    def best_scores(query_part: slice, item_part: slice) -> np.ndarray:
        of_items = slice(int(starts[item_part.start]), int(starts[item_part.stop]))
        return np.maximum.reduceat(scores(query_part, of_items), starts[item_part] - of_items.start, axis=1)

    ranking = Ranking("v2t", "video → text", queries, texts, from_labels(queries.key, items))
    longest = int(np.diff(starts).max())
    return [figures(ranking, best_scores, QUERY_CHUNK, max(1, ITEM_CHUNK // longest))]


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
    directions = []
    for ranking in rankings(rows):
        scores = ranking.scores(similarity)
        known = ranking.queries.any_present
        sums = log_sums(scores, *_shape(ranking), temperature, counted=known if known.any() else None)
        directions.append(figures(ranking, _dual(scores, sums, temperature, never_positive(similarity))))
    return directions


def evaluate_query_bank(
    rows: EmbeddedRows, similarity: SimilarityKind, bank: Bank, temperature: float
) -> list[Direction]:
    """Text → video and text → video+audio with `query_bank`; given the bank, queries are independent of each other."""
    directions = []
    for ranking in rankings(rows):
        if ranking.name in TEXT_QUERIES:
            scores = ranking.scores(similarity)
            of_bank = block_scores(bank.entries, ranking.items, similarity)
            num_items = len(ranking.items.key)
            sums = log_sums(of_bank, len(bank.vectors), num_items, temperature)
            hubs = np.unique(best_items(of_bank, len(bank.vectors), num_items))
            active = np.isin(best_items(scores, *_shape(ranking)), hubs)
            directions.append(figures(ranking, _banked(scores, sums, temperature, active)))
    return directions


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
    drawn_rows = np.zeros(manifest.rows, bool)
    drawn_rows[drawn] = True
    reader = RowGroupReader(manifest, ["caption"])
    texts: list[str] = []
    first = 0
    for place in row_groups(manifest):
        count = sum(manifest.shards[place.shard].row_groups[place.index])
        chosen = np.flatnonzero(drawn_rows[first : first + count])
        if len(chosen):
            texts.extend(reader.read(place)["caption"][chosen].tolist())
        first += count
    return texts


def embed_bank(
    model: nn.Module,
    features: Mapping[str, int],
    vocabulary: Vocabulary,
    manifest: Manifest,
    texts: Sequence[str],
    max_rows: int,
) -> Bank:
    """The bank of the texts with a known word; DatasetError where there are none."""
    vectors, known = embed_captions(model, features, vocabulary, texts, manifest.schema.max_words, max_rows)
    if not known.any():
        raise DatasetError(f"{manifest.uri}: no caption of the bank holds a word that the model knows; give another")
    return Bank(torch.from_numpy(vectors[known]), manifest.uri)
