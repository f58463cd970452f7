"""Retrieval metrics of a dual encoder: both directions, in each space and by the hybrid score."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from vtr_core.config.concept_similarity import ConceptSimilarity
from vtr_core.config.evaluation import EvaluationConfig, Normalisation
from vtr_core.data.manifest import Manifest
from vtr_core.errors import DatasetError
from vtr_core.metrics.chance import chance
from vtr_core.metrics.ranking import chunked_retrieval_metrics
from vtr_core.metrics.relevance import Relevance, from_labels
from vtr_core.retrieval.embed.clips import EmbeddedRows
from vtr_core.retrieval.evaluate.retrieval import Direction, metric_values
from vtr_core.retrieval.search.dual_spaces import QuerySubset, SpaceFigures
from vtr_core.systems.dual.rows import DualRows, dual_encoder, embed_dual, only_captions
from vtr_core.systems.dual.scores import Scores, hybrid_scores, space_scores
from vtr_core.systems.loaded_model import TrainedModel


def evaluate_dual(
    rows: DualRows,
    concept_similarity: ConceptSimilarity,
    latent_weight: float = 0.6,
    normalise: Normalisation = "matrix",
) -> list[SpaceFigures]:
    """The metrics by the hybrid score, where the model has both spaces, then those of each space.

    Every caption is a query: captions without an in-vocabulary word, or whose video has no frames, count as failures,
    so that the number of queries depends on the data set alone. In the other direction, every video with frames and an
    in-vocabulary caption is a query. Gallery items are the videos with frames, and the captions with an in-vocabulary
    word.
    """
    spaces = space_scores(rows, concept_similarity)
    both = _Both(rows)
    found = []
    if len(spaces) == 2:
        latent, concept = spaces["latent"], spaces["concept"]
        there = both.present, latent_weight, normalise, rows.ranges
        back = both.present[::-1], latent_weight, normalise, rows.ranges
        directions = both.figures(
            hybrid_scores(latent, concept, *there),
            hybrid_scores(latent.transposed(), concept.transposed(), *back),
        )
        found.append(SpaceFigures("hybrid", directions))
    for space, scores in spaces.items():
        found.append(SpaceFigures(space, both.figures(scores, scores.transposed())))
    return found


def checkpoint_figures(
    loaded: TrainedModel,
    manifest: Manifest,
    evaluation: EvaluationConfig,
    subset: QuerySubset | None = None,
    stored: EmbeddedRows | None = None,
) -> list[SpaceFigures]:
    """`evaluate_dual` of a data set, and of its captions in `subset`; DatasetError if there are no items.

    stored: the data set's embeddings, where they are already computed.
    """
    model, rows = dual_encoder(loaded).config, embed_dual(loaded, manifest, stored)
    if not rows.video_present.any() or not len(rows.captions):
        raise DatasetError(f"{manifest.uri}: no video has frames of {model.feature}, or there is no caption")
    how = model.concept_similarity, evaluation.latent_weight, evaluation.normalise
    found = evaluate_dual(rows, *how)
    if subset is None:
        return found
    kept = np.isin(rows.caption_key, subset.caption_keys)
    part = only_captions(rows, kept)
    if not part.video_present.any() or not kept.any():
        raise DatasetError(f"{manifest.uri} has no {subset.name} query whose video has frames")
    return [*found, *(replace(one, queries=subset.name) for one in evaluate_dual(part, *how))]


def dual_metric_values(figures: Sequence[SpaceFigures], prefix: str) -> dict[str, float]:
    """The metrics by name: `<prefix>/t2v/r1` … by the first score, `<prefix>/latent/t2v/r1` … by the others."""
    values: dict[str, float] = {}
    for number, one in enumerate(figures):
        values.update(metric_values(one.directions, prefix if number == 0 else f"{prefix}/{one.space}"))
    return values


class _Both:
    """Relevance of both directions."""

    def __init__(self, rows: DualRows) -> None:
        self.present = rows.text_present, rows.video_present
        self._videos, self._captions = np.flatnonzero(rows.video_present), np.flatnonzero(rows.text_present)
        told = np.zeros(len(rows.video_id), bool)
        told[rows.caption_video[self._captions]] = True
        self._asking = np.flatnonzero(rows.video_present & told)
        t2v = from_labels(rows.caption_video, self._videos).only(rows.text_present)
        self._t2v, self._v2t = t2v, from_labels(self._asking, rows.caption_video[self._captions])

    def figures(self, there: Scores, back: Scores) -> list[Direction]:
        """Metrics of scores (captions, videos) and (videos, captions); the latter where at least one video is
        a query.
        """
        every = np.arange(self._t2v.num_queries)
        found = [_direction("t2v", "text → video", there, every, self._videos, self._t2v)]
        if len(self._asking):
            found.append(_direction("v2t", "video → text", back, self._asking, self._captions, self._v2t))
        return found


def _direction(
    name: str, title: str, scores: Scores, queries: np.ndarray, items: np.ndarray, relevance: Relevance
) -> Direction:
    """Metrics of selected rows of `scores` against selected columns."""
    every_query, every_item = len(queries) == scores.num_queries, len(items) == scores.num_items

    def block(asked: slice, found: slice) -> np.ndarray:
        if every_query and every_item:
            return scores.block(asked, found)
        return _cut(scores, queries[asked], items[found])

    metrics = chunked_retrieval_metrics(block, relevance, missing="count_as_failure")
    random = chance(relevance, missing="count_as_failure")
    return Direction(name, title, metrics, random, int((relevance.counts == 0).sum()))


def _cut(scores: Scores, queries: np.ndarray, items: np.ndarray) -> np.ndarray:
    """The scores of some rows and columns, both ascending."""
    rows, columns = slice(int(queries[0]), int(queries[-1]) + 1), slice(int(items[0]), int(items[-1]) + 1)
    return scores.block(rows, columns)[np.ix_(queries - rows.start, items - columns.start)]
