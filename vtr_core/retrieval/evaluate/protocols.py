"""Protocols of retrieval beside the plain one: right items by caption, all captions together, normalised scores.

Where a sentence describes several films, the plain protocol counts all but one of them as wrong answers to it. All
captions of a video may form one query, or those of a clip one item. At test time scores may be normalised by dual
softmax, or by a query bank of other captions.
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
    captions,
    figures,
    first_of_clips,
    first_rows,
    known_captions,
    match,
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


def mean_embeddings(rows: EmbeddedRows, similarity: SimilarityKind) -> list[Direction]:
    """s(u, v) = sim(mean over the captions of u, mean over the clips of v) of the embeddings.

    Every video is a query, every video with a visible clip is an item. Captions without a known word and clips without
    any of the modalities are excluded from the means; a video without other captions counts as a failure, one without
    other clips is no item. Each modality has a mean of its own, over the clips that have it.
    """
    directions = []
    for name, title, texts, items in _directions(rows):
        pooled_queries, pooled_items = _mean(texts), _mean(items)
        ranking = Ranking(name, title, pooled_queries, pooled_items, match(pooled_queries, pooled_items))
        directions.append(figures(ranking, ranking.scores(similarity)))
    return directions


def caption_average(rows: EmbeddedRows, similarity: SimilarityKind) -> list[Direction]:
    """s(u, v) = mean over the captions c of u of the greatest sim(c, k) over the clips k of v.

    Queries, items and exclusions as for `mean_embeddings`. Blocks of captions × clips are scored and reduced one at a
    time: at most QUERY_CHUNK × ITEM_CHUNK scores, more only where a single video has more captions or clips.
    """
    directions = []
    for name, title, texts, items in _directions(rows):
        queries, clips = _Grouped.of(texts), _Grouped.of(items)
        known = np.add.reduceat(queries.entries.any_present, queries.starts[:-1]) > 0
        relevance = from_labels(queries.videos, clips.videos).only(known)
        ranking = Ranking(name, title, queries.entries, clips.entries, relevance)
        scores = _best_scores(queries, clips, block_scores(queries.entries, clips.entries, similarity))
        chunks = max(1, QUERY_CHUNK // queries.longest), max(1, ITEM_CHUNK // clips.longest)
        directions.append(figures(ranking, scores, *chunks))
    return directions


def best_captions(rows: EmbeddedRows, similarity: SimilarityKind) -> list[Direction]:
    """s(v, u) = the greatest sim(v, c) over the captions c of clip u that have a known word.

    Video to text where clips have several captions, as CLIP4Clip evaluates MSVD: a clip takes one place, however many
    captions it has. Clips without a known caption are neither queries nor items.
    """
    if VIDEO not in visible(rows) or TEXT not in rows.vectors:
        return []
    texts, clips = known_captions(rows), first_rows(rows, [VIDEO])
    clips = clips.select(clips.any_present & np.isin(clips.key, texts.key))
    if not len(clips.key):
        return []
    queries, items = _Grouped.of(clips), _Grouped.of(texts)
    relevance = from_labels(queries.videos, items.videos)
    ranking = Ranking("v2t", "video → text", queries.entries, items.entries, relevance)
    scores = _best_scores(queries, items, block_scores(queries.entries, items.entries, similarity))
    return [figures(ranking, scores, QUERY_CHUNK, max(1, ITEM_CHUNK // items.longest))]


@dataclass(frozen=True)
class _Grouped:
    """Entries sorted by key, of videos or clips: the g-th of `videos` has entries `starts[g]` to `starts[g + 1]`."""

    entries: Entries
    videos: Int64[np.ndarray, " videos"]
    starts: Int64[np.ndarray, " videos_and_one"]

    @classmethod
    def of(cls, entries: Entries) -> "_Grouped":
        order = np.argsort(entries.key, kind="stable")
        videos, first = np.unique(entries.key[order], return_index=True)
        return cls(entries.select(order), videos, np.append(first, len(order)).astype(np.int64))

    @property
    def longest(self) -> int:
        """The largest number of entries of a video."""
        return int(np.diff(self.starts).max())

    def span(self, videos: slice) -> slice:
        """The entries of a range of videos."""
        return slice(int(self.starts[videos.start]), int(self.starts[videos.stop]))


def _directions(rows: EmbeddedRows) -> list[tuple[str, str, Entries, Entries]]:
    """Name, title, captions and visible clips, both with the keys of their videos."""
    names = visible(rows)
    texts = captions(rows)
    texts = Entries(texts.parts, texts.present, rows.video_key)
    directions = []
    if "video" in names:
        directions.append(("t2v", "text → video", texts, _clips_of_videos(rows, ["video"])))
    if len(names) == 2:
        directions.append(("t2va", "text → video+audio", texts, _clips_of_videos(rows, names)))
    return directions if TEXT in rows.vectors else []


def _clips_of_videos(rows: EmbeddedRows, names: Sequence[str]) -> Entries:
    clips = first_rows(rows, names)
    clips = Entries(clips.parts, clips.present, rows.video_key[first_of_clips(rows)])
    return clips.select(clips.any_present)


def _mean(entries: Entries) -> Entries:
    """One entry per video: for each modality the mean of the vectors of the entries that have it."""
    videos, group = np.unique(entries.key, return_inverse=True)
    counts = [np.bincount(group[has], minlength=len(videos)) for has in entries.present]
    index = torch.from_numpy(group.astype(np.int64))
    means = tuple(_mean_of(part, index, count) for part, count in zip(entries.parts, counts, strict=True))
    return Entries(means, tuple(count > 0 for count in counts), videos)


def _mean_of(
    vectors: Float[Tensor, "entries dim"], group: Tensor, counts: Int64[np.ndarray, " groups"]
) -> Float[Tensor, "groups dim"]:
    sums = vectors.new_zeros(len(counts), vectors.shape[1]).index_add_(0, group, vectors)
    return sums / torch.from_numpy(np.maximum(counts, 1)).unsqueeze(1)


def _best_scores(queries: _Grouped, items: _Grouped, scores: ScoreChunk) -> ScoreChunk:
    """Scores between groups: the mean over the queries of one of its best entry of the other."""
    counts_for = queries.entries.any_present

    def block(query_part: slice, item_part: slice) -> np.ndarray:
        lines, clips = queries.span(query_part), items.span(item_part)
        best = np.maximum.reduceat(scores(lines, clips), items.starts[item_part] - clips.start, axis=1)
        weights = counts_for[lines].astype(best.dtype)
        starts = queries.starts[query_part] - lines.start
        count = np.maximum(np.add.reduceat(weights, starts), 1)
        return np.add.reduceat(best * weights[:, None], starts, axis=0) / count[:, None]

    return block


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
