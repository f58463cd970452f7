"""Rankings of queries against a gallery: scores in blocks, best candidates, ranks."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from typing import Any

import numpy as np
import torch
from jaxtyping import Bool, Float, Int64
from torch import Tensor

from vtr_core.config.losses import ContrastiveLossConfig
from vtr_core.config.run import TrainConfig
from vtr_core.embedding.embedded_rows import EmbeddedRows
from vtr_core.errors import ConfigError
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
from vtr_core.similarity import SimilarityKind, mean_over_modalities, similarity_function


@dataclass(frozen=True)
class Entries:
    """Queries or items. `parts[m][i]` is the vector of modality m, exactly 0 where `present[m][i]` is false.

    A query and an item match where their keys, of clips or of videos, are equal.
    """

    parts: tuple[Float[Tensor, "entries dim"], ...]
    present: tuple[Bool[np.ndarray, " entries"], ...]
    key: Int64[np.ndarray, " entries"]
    rows: Int64[np.ndarray, " entries"] | None = None
    """The row of the data set that each entry is, where it is one."""
    names: tuple[str, ...] = ()
    """The modalities of `parts`, where entries are rows."""

    @property
    def any_present(self) -> Bool[np.ndarray, " entries"]:
        """Mask of the entries with at least one modality."""
        return np.logical_or.reduce(self.present)

    def select(self, chosen: Bool[np.ndarray, " entries"] | Int64[np.ndarray, " kept"] | slice) -> "Entries":
        """The entries selected by a mask, by positions, or by a range."""
        index = chosen if isinstance(chosen, slice) else torch.from_numpy(chosen)
        parts, present = tuple(p[index] for p in self.parts), tuple(p[chosen] for p in self.present)
        return Entries(parts, present, self.key[chosen], None if self.rows is None else self.rows[chosen], self.names)


def captions(rows: EmbeddedRows) -> Entries:
    """One entry for each row, also for captions without a known word."""
    every = np.arange(len(rows.clip_key))
    return Entries((torch.from_numpy(rows.vectors[TEXT]),), (rows.present[TEXT],), rows.clip_key, every, (TEXT,))


def known_captions(rows: EmbeddedRows) -> Entries:
    """One entry for each caption with a known word."""
    entries = captions(rows)
    return entries.select(entries.any_present)


def clips(rows: EmbeddedRows, names: Sequence[str]) -> Entries:
    """One entry for each clip with any of the modalities `names`, from its first row: rows of the same clip differ in
    their captions only."""
    first = first_of_clips(rows)
    parts = [np.where(rows.present[name][first, None], rows.vectors[name][first], 0) for name in names]
    entries = Entries(
        parts=tuple(torch.from_numpy(part.astype(np.float32, copy=False)) for part in parts),
        present=tuple(rows.present[name][first] for name in names),
        key=rows.clip_key[first],
        rows=first,
        names=tuple(names),
    )
    return entries.select(entries.any_present)


def first_of_clips(rows: EmbeddedRows) -> Int64[np.ndarray, " clips"]:
    """The index of every clip's first row, ascending."""
    return np.sort(np.unique(rows.clip_key, return_index=True)[1])


def block_scores(queries: Entries, items: Entries, similarity: SimilarityKind) -> ScoreChunk:
    """Scores of a range of queries and a range of items; higher is more similar.

    Of several modalities the similarities are averaged, see `mean_over_modalities`.
    """
    by_modality = [similarity_function(similarity)] * len(items.parts)

    def scores(query_part: slice, item_part: slice) -> np.ndarray:
        asked, found = queries.select(query_part), items.select(item_part)
        has_query, has_item = (list(map(torch.from_numpy, side.present)) for side in (asked, found))
        return mean_over_modalities(asked.parts, found.parts, has_query, has_item, by_modality).numpy()

    return scores


@dataclass(frozen=True)
class Protocol:
    """The similarity that the loss compared, the one that checkpoints were chosen by, and the one that judges.

    Duarte et al. train with dot products and judge by the Euclidean distance, which order items alike only where their
    vectors are equally long.
    """

    trained_with: str
    """A similarity, or the kind of a loss that has one of its own."""
    chosen_by: SimilarityKind
    judged_by: SimilarityKind

    @classmethod
    def of(cls, config: TrainConfig, judged_by: SimilarityKind) -> "Protocol":
        """The protocol of a run whose embeddings are compared by `judged_by` now."""
        loss = config.loss
        trained_with = loss.similarity if isinstance(loss, ContrastiveLossConfig) else loss.kind
        return cls(trained_with, config.evaluation.similarity, judged_by)

    def flat(self) -> dict[str, str]:
        """By name, for a run's parameters and JSON: `similarity_trained_with`, …."""
        return {f"similarity_{name}": value for name, value in asdict(self).items()}

    @classmethod
    def from_flat(cls, values: Mapping[str, Any]) -> "Protocol":
        """The inverse of `flat`, among other values."""
        return cls(**{field.name: values[f"similarity_{field.name}"] for field in fields(cls)})

    def __str__(self) -> str:
        return f"trained with {self.trained_with}, checkpoint chosen by {self.chosen_by}, judged by {self.judged_by}"


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
        queries = captions(rows) if query == TEXT else by_modality[query]
        if query != TEXT:
            queries = queries.select(np.isin(queries.key, items.key))
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


def with_audio_alone(rows: EmbeddedRows) -> EmbeddedRows:
    """The rows, in which clips without audio have no video either, so that their captions are failures.

    ConfigError unless there are clips of both.
    """
    if visible(rows) != [VIDEO, AUDIO]:
        raise ConfigError(
            "vtr evaluate: --missing-audio miss is for clips with audio, and no clip here has any beside video"
        )
    return replace(rows, present={**rows.present, VIDEO: rows.present[VIDEO] & rows.present[AUDIO]})


def _items(rows: EmbeddedRows) -> dict[str, Entries]:
    names = visible(rows)
    by_modality = {name: clips(rows, [name]) for name in names}
    if len(names) == 2:
        by_modality[_VIDEO_AUDIO] = clips(rows, names)
    if TEXT in rows.vectors:
        by_modality[TEXT] = known_captions(rows)
    return by_modality


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
