"""Retrieval figures of an embedded data set: text against video, and against video and audio together."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import torch

from vtr_core.metrics.chance import chance
from vtr_core.metrics.ranking import RetrievalMetrics, chunked_retrieval_metrics
from vtr_core.metrics.relevance import Relevance, from_labels
from vtr_core.nn.embeddings import TEXT
from vtr_core.retrieval.embed import EmbeddedRows
from vtr_core.similarity import SimilarityKind, similarity_function

VIDEO, AUDIO = "video", "audio"


@dataclass(frozen=True)
class Side:
    """One side of a retrieval: a vector and a clip key for each query or item."""

    vectors: torch.Tensor
    clip_key: np.ndarray

    def select(self, kept: np.ndarray) -> "Side":
        """The entries where `kept` is true."""
        return Side(self.vectors[torch.from_numpy(kept)], self.clip_key[kept])


@dataclass(frozen=True)
class Direction:
    """A retrieval in one direction: its name in metrics and for people, its figures and those of a random ranking."""

    name: str
    title: str
    metrics: RetrievalMetrics
    chance: RetrievalMetrics


def evaluate_retrieval(rows: EmbeddedRows, similarity: SimilarityKind) -> list[Direction]:
    """All directions that the data set's modalities allow.

    Queries and items of text are rows; those of video and audio are clips, however many captions they have. Relevant is
    what shows the same clip. A caption whose clip has no item stays among the queries, as a failure; a clip that has no
    caption, or no audio, has nothing to find there and is no query. VAT adds the vectors of video and audio; a clip
    without audio is scored with video alone.
    """
    sides = _sides(rows)
    directions = []
    for name, title, query, item in _DIRECTIONS:
        if query not in sides or item not in sides:
            continue
        queries, items = sides[query], sides[item]
        if query != TEXT:
            queries = queries.select(np.isin(queries.clip_key, items.clip_key))
        if len(queries.clip_key) and len(items.clip_key):
            relevance = from_labels(queries.clip_key, items.clip_key)
            metrics = _rank(queries, items, relevance, similarity)
            directions.append(Direction(name, title, metrics, chance(relevance, missing="count_as_failure")))
    return directions


_VIDEO_AUDIO = "video+audio"
_DIRECTIONS = (
    ("t2v", "text → video", TEXT, VIDEO),
    ("v2t", "video → text", VIDEO, TEXT),
    ("t2va", "text → video+audio", TEXT, _VIDEO_AUDIO),
    ("va2t", "video+audio → text", _VIDEO_AUDIO, TEXT),
    ("v2a", "video → audio", VIDEO, AUDIO),
    ("a2v", "audio → video", AUDIO, VIDEO),
)


def _sides(rows: EmbeddedRows) -> dict[str, Side]:
    sides = {TEXT: _text(rows)} if TEXT in rows.vectors else {}
    visible = [name for name in (VIDEO, AUDIO) if name in rows.vectors and rows.present[name].any()]
    for name in visible:
        sides[name] = _clips(rows, [name])
    if len(visible) == 2:
        sides[_VIDEO_AUDIO] = _clips(rows, visible)
    return sides


def _text(rows: EmbeddedRows) -> Side:
    present = rows.present[TEXT]
    return Side(torch.from_numpy(rows.vectors[TEXT][present]), rows.clip_key[present])


def _clips(rows: EmbeddedRows, names: list[str]) -> Side:
    """One entry for each clip that has any of `names`: the sum of the vectors it has."""
    first = np.unique(rows.clip_key, return_index=True)[1]
    first = np.sort(first)
    present = np.stack([rows.present[name][first] for name in names])
    total = sum(np.where(has[:, None], rows.vectors[name][first], 0) for name, has in zip(names, present, strict=True))
    some = present.any(axis=0)
    return Side(torch.from_numpy(np.asarray(total)[some]), rows.clip_key[first][some])


def _rank(queries: Side, items: Side, relevance: Relevance, similarity: SimilarityKind) -> RetrievalMetrics:
    score = similarity_function(similarity)

    def score_chunk(query_part: slice, item_part: slice) -> np.ndarray:
        return score(queries.vectors[query_part], items.vectors[item_part]).numpy()

    return chunked_retrieval_metrics(score_chunk, relevance, missing="count_as_failure")


def metric_values(directions: list[Direction], prefix: str) -> dict[str, float]:
    """The figures as flat metric names: `<prefix>/t2v/r1` … in percent, ranks from 1, `sum_r` of both ways."""
    values: dict[str, float] = {}
    for direction in directions:
        values.update({f"{prefix}/{direction.name}/{k}": v for k, v in _figures(direction.metrics).items()})
    for there, back in (("t2v", "v2t"), ("t2va", "va2t"), ("v2a", "a2v")):
        recalls = [values.get(f"{prefix}/{name}/r{k}") for name in (there, back) for k in (1, 5, 10)]
        if None not in recalls:
            values[f"{prefix}/{there}/sum_r"] = sum(value for value in recalls if value is not None)
    return values


def _figures(metrics: RetrievalMetrics) -> Mapping[str, float]:
    recalls = {f"r{k}": 100.0 * value for k, value in metrics.recall.items()}
    ranks = {"medr": metrics.median_rank, "meanr": metrics.mean_rank}
    return {**recalls, **ranks, "map": metrics.mean_average_precision}
