"""Retrieval metrics of an embedded data set, text to video, and video with audio."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Int64

from vtr_core.embedding.embedded_rows import EmbeddedRows
from vtr_core.embedding.scoring import Entries, block_scores, captions, clips, known_captions
from vtr_core.metrics.ranking import (
    ITEM_CHUNK,
    QUERY_CHUNK,
    RetrievalMetrics,
    chance,
    check_relevance,
    standing_metrics,
)
from vtr_core.metrics.ranks import Relevance, ScoreChunk, Standing, from_labels, standing
from vtr_core.nn.embeddings import TEXT
from vtr_core.similarity import SimilarityKind

VIDEO, AUDIO = "video", "audio"


@dataclass(frozen=True)
class Direction:
    """One retrieval direction: its name in metrics, its title, its metrics and those of a random ranking.

    `num_unanswerable`: queries without a relevant item or without a known word, which count as failures.
    """

    name: str
    title: str
    metrics: RetrievalMetrics
    chance: RetrievalMetrics
    num_unanswerable: int = 0


Relevant = Callable[[Entries, Entries], Relevance]
"""(queries, items) → which items are right for each query."""


@dataclass(frozen=True)
class Ranking:
    """Queries, items and relevance of one direction."""

    name: str
    title: str
    queries: Entries
    items: Entries
    relevance: Relevance

    def scores(self, similarity: SimilarityKind) -> ScoreChunk:
        """The scores block by block."""
        return block_scores(self.queries, self.items, similarity)


@dataclass(frozen=True)
class QuerySample:
    """At most `count` queries of every direction, drawn without replacement."""

    count: int
    seed: int = 0

    def drawn(self, total: int) -> Int64[np.ndarray, " drawn"]:
        """The numbers of the sampled queries of `total`, ascending; all, where there are no more than `count`."""
        if total <= self.count:
            return np.arange(total)
        return np.sort(np.random.default_rng(self.seed).choice(total, self.count, replace=False))

    def of(self, ranking: Ranking, relevant: Relevant | None = None) -> Ranking:
        """The sampled queries, in their order, against all items; `relevant` as in `rankings`."""
        total = len(ranking.queries.key)
        if total <= self.count:
            return ranking
        queries = ranking.queries.select(self.drawn(total))
        return Ranking(ranking.name, ranking.title, queries, ranking.items, (relevant or match)(queries, ranking.items))


def evaluate_retrieval(
    rows: EmbeddedRows,
    similarity: SimilarityKind,
    sample: QuerySample | None = None,
    relevant: Relevant | None = None,
) -> list[Direction]:
    """The metrics of all directions that the data set's modalities allow, see `rankings`; or of sampled queries."""
    every = rankings(rows, relevant)
    chosen = every if sample is None else [sample.of(ranking, relevant) for ranking in every]
    return [figures(ranking, ranking.scores(similarity)) for ranking in chosen]


def rankings(rows: EmbeddedRows, relevant: Relevant | None = None) -> list[Ranking]:
    """All directions that the data set's modalities allow.

    relevant: which items are right for which queries; None: those of the query's clip, `match`.

    Queries and items of text are rows; those of video and audio are clips. Entries of the same clip are relevant to
    each other. Every caption is a query: captions whose clip has no item, and captions without a known word, count as
    failures, so that the number of queries depends on the data set alone. Clips without relevant items are no queries.
    Where no clip can be seen, text and audio search for each other.
    Video+audio (VAT) averages the similarities to both; a clip without audio is scored with video alone.
    """
    by_modality = _items(rows)
    every = []
    for name, title, query, item in _DIRECTIONS if VIDEO in by_modality else _OF_AUDIO_ALONE:
        if item not in by_modality or query not in by_modality:
            continue
        items = by_modality[item]
        queries = captions(rows) if query == TEXT else _with_a_match(by_modality[query], items)
        if len(queries.key) and len(items.key):
            every.append(Ranking(name, title, queries, items, (relevant or match)(queries, items)))
    return every


def match(queries: Entries, items: Entries) -> Relevance:
    """Relevance: items with the query's key; a query without any modality has no relevant items."""
    return from_labels(queries.key, items.key).only(queries.any_present)


def figures(
    ranking: Ranking, scores: ScoreChunk, query_chunk: int = QUERY_CHUNK, item_chunk: int = ITEM_CHUNK
) -> Direction:
    """The metrics of `ranking` under these scores, computed in blocks."""
    check_relevance(ranking.relevance, "count_as_failure")
    return of_standing(ranking, standing(scores, ranking.relevance, query_chunk, item_chunk))


def of_standing(ranking: Ranking, ranks: Standing) -> Direction:
    """The metrics of `ranking`, whose relevant items stand like this."""
    relevance = ranking.relevance
    metrics = standing_metrics(ranks, relevance)
    unanswerable = int((relevance.counts == 0).sum())
    random = chance(relevance, missing="count_as_failure")
    return Direction(ranking.name, ranking.title, metrics, random, unanswerable)


_VIDEO_AUDIO = "video+audio"
_DIRECTIONS = (
    ("t2v", "text → video", TEXT, VIDEO),
    ("v2t", "video → text", VIDEO, TEXT),
    ("t2va", "text → video+audio", TEXT, _VIDEO_AUDIO),
    ("va2t", "video+audio → text", _VIDEO_AUDIO, TEXT),
    ("v2a", "video → audio", VIDEO, AUDIO),
    ("a2v", "audio → video", AUDIO, VIDEO),
)
_OF_AUDIO_ALONE = (("t2a", "text → audio", TEXT, AUDIO), ("a2t", "audio → text", AUDIO, TEXT))


def visible(rows: EmbeddedRows) -> list[str]:
    """The modalities among video and audio that at least one row has."""
    return [name for name in (VIDEO, AUDIO) if name in rows.vectors and rows.present[name].any()]


def _items(rows: EmbeddedRows) -> dict[str, Entries]:
    names = visible(rows)
    by_modality = {name: clips(rows, [name]) for name in names}
    if len(names) == 2:
        by_modality[_VIDEO_AUDIO] = clips(rows, names)
    if TEXT in rows.vectors:
        by_modality[TEXT] = known_captions(rows)
    return by_modality


def _with_a_match(queries: Entries, items: Entries) -> Entries:
    return queries.select(np.isin(queries.key, items.key))


def metric_values(directions: Sequence[Direction], prefix: str) -> dict[str, float]:
    """The metrics by flat names: `<prefix>/t2v/r1` … and `sum_r`, over both directions, in percent; `map` in [0, 1];
    ranks from 1.
    """
    values: dict[str, float] = {}
    for direction in directions:
        values.update({f"{prefix}/{direction.name}/{k}": v for k, v in _figures(direction.metrics).items()})
    for forth, back in (("t2v", "v2t"), ("t2va", "va2t"), ("v2a", "a2v"), ("t2a", "a2t")):
        recalls = [values.get(f"{prefix}/{name}/r{k}") for name in (forth, back) for k in (1, 5, 10)]
        if None not in recalls:
            values[f"{prefix}/{forth}/sum_r"] = sum(value for value in recalls if value is not None)
    return values


def _figures(metrics: RetrievalMetrics) -> Mapping[str, float]:
    recalls = {f"r{k}": 100.0 * value for k, value in metrics.recall.items()}
    ranks = {"medr": metrics.median_rank, "meanr": metrics.mean_rank}
    return {**recalls, **ranks, "map": metrics.mean_average_precision}
