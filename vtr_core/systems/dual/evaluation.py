"""Retrieval metrics of a dual encoder: both directions, in each space and by the hybrid score."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from statistics import fmean

import numpy as np
import torch
from jaxtyping import Int64
from torch import Tensor

from vtr_core.config.run import EvaluationConfig
from vtr_core.data.manifest import Manifest
from vtr_core.embedding.collectives import add_counts, add_scores
from vtr_core.embedding.embedded_rows import EmbeddedRows
from vtr_core.embedding.rankings import Direction, QuerySample, metric_values
from vtr_core.embedding.video_ranking import Scoring
from vtr_core.errors import DatasetError
from vtr_core.metrics.average_precision import average_precision
from vtr_core.metrics.ranking import chance, check_relevance, standing_metrics
from vtr_core.metrics.ranks import PairCounts, Relevance, from_labels
from vtr_core.systems.dual.dual_embeddings import DualRows, dual_encoder, embed_dual, only_captions, only_space
from vtr_core.systems.dual.hybrid_scores import (
    Asks,
    DualSpace,
    Grid,
    Hybrid,
    SharedDual,
    Tile,
    dual_scoring,
    hybrid_of,
)
from vtr_core.systems.loaded_model import TrainedModel
from vtr_core.systems.spaces import QuerySubset, SpaceFigures


def directions(
    grid: Grid, asks: Asks, spaces: Sequence[DualSpace], hybrid: Hybrid | None
) -> dict[DualSpace, Direction]:
    """The metrics of one direction under the scores of each of `spaces`; equal on every worker."""
    search, by_space = _counted(grid, asks, spaces, hybrid)
    return {space: search.direction(counts) for space, counts in by_space.items()}


def _counted(
    grid: Grid, asks: Asks, spaces: Sequence[DualSpace], hybrid: Hybrid | None
) -> tuple["_Search", dict[DualSpace, PairCounts]]:
    """One direction, and its counts under the scores of each of `spaces`."""
    search = _search(grid, asks)
    check_relevance(search.relevance, "count_as_failure")
    by_space = {space: PairCounts(search.relevance) for space in spaces}
    for tile in grid.tiles():
        for space, counts in by_space.items():
            search.take(counts, tile, _scores(tile, space, asks, hybrid))
    for counts in by_space.values():
        add_scores(counts, grid.shared.device)
    for tile in grid.tiles():
        for space, counts in by_space.items():
            search.count(counts, tile, _scores(tile, space, asks, hybrid))
    for counts in by_space.values():
        add_counts(counts, grid.shared.device)
    return search, by_space


def _scores(tile: Tile, space: DualSpace, asks: Asks, hybrid: Hybrid | None) -> Tensor:
    if space == "hybrid":
        assert hybrid is not None, "of a model with both spaces"
        return hybrid.scores(tile, asks)
    return tile.scores[space]


@dataclass(frozen=True)
class _Search:
    """One direction: the captions and videos of a grid that are queries and items, and which are relevant."""

    name: str
    title: str
    asks: Asks
    captions: Int64[np.ndarray, " captions"]
    videos: Int64[np.ndarray, " videos"]
    relevance: Relevance

    def take(self, counts: PairCounts, tile: Tile, scores: Tensor) -> None:
        queries, items = self._parts(tile)
        if counts.relevant_in(queries, items):
            counts.take(queries, items, self._block(tile, scores))

    def count(self, counts: PairCounts, tile: Tile, scores: Tensor) -> None:
        counts.count(self._parts(tile)[0], self._block(tile, scores))

    def direction(self, counts: PairCounts) -> Direction:
        metrics = standing_metrics(counts.standing(), self.relevance)
        random = chance(self.relevance, missing="count_as_failure")
        return Direction(self.name, self.title, metrics, random, int((self.relevance.counts == 0).sum()))

    def _parts(self, tile: Tile) -> tuple[slice, slice]:
        captions, videos = _within(self.captions, tile.captions), _within(self.videos, tile.videos)
        return (captions, videos) if self.asks == "captions" else (videos, captions)

    def _block(self, tile: Tile, scores: Tensor) -> np.ndarray:
        """The tile's scores of queries and items alone, queries first."""
        captions = self.captions[_within(self.captions, tile.captions)] - tile.captions.start
        videos = self.videos[_within(self.videos, tile.videos)] - tile.videos.start
        if (len(captions), len(videos)) != tuple(scores.shape):
            scores = scores[torch.from_numpy(captions)][:, torch.from_numpy(videos)]
        return (scores if self.asks == "captions" else scores.T.contiguous()).numpy()


def _within(chosen: Int64[np.ndarray, " chosen"], part: slice) -> slice:
    first, last = np.searchsorted(chosen, [part.start, part.stop]).tolist()
    return slice(first, last)


def _search(grid: Grid, asks: Asks) -> _Search:
    """Every caption is a query, and the videos with frames are items; or the videos with frames and a caption are
    queries, and the captions with a known word items.
    """
    video_of = grid.shared.caption_video[grid.captions]
    if asks == "captions":
        videos = np.flatnonzero(grid.video_present())
        relevance = from_labels(video_of, grid.videos[videos]).only(grid.text_present())
        return _Search("t2v", "text → video", asks, np.arange(len(grid.captions)), videos, relevance)
    captions, videos = np.flatnonzero(grid.text_present()), np.flatnonzero(np.isin(grid.videos, grid.shared.asking))
    relevance = from_labels(grid.videos[videos], video_of[captions])
    return _Search("v2t", "video → text", asks, captions, videos, relevance)


_CPU = torch.device("cpu")


def evaluate_dual(
    rows: DualRows,
    scoring: Scoring,
    sample: QuerySample | None = None,
    rank: int = 0,
    device: torch.device = _CPU,
) -> list[SpaceFigures]:
    """The metrics by the hybrid score, where the model has both spaces, then those of each space.

    Every caption is a query: captions without an in-vocabulary word, or whose video has no frames, count as failures,
    so that the number of queries depends on the data set alone. In the other direction, every video with frames and an
    in-vocabulary caption is a query. Gallery items are the videos with frames, and the captions with an in-vocabulary
    word.

    sample: at most so many queries of each direction, against all items; bounds are then those over these queries.
    rank, device: of a worker that has some of the rows, contiguous and in order of rank; the metrics are those of all
    rows, to the last digit, and equal on every worker.
    """
    shared = SharedDual(rows, scoring.transform, rank, device)
    captions, videos = np.arange(len(shared.caption_video)), np.arange(len(shared.video_present))
    to_video = to_text = Grid(shared, captions, videos)
    if sample is not None:
        to_video = Grid(shared, sample.drawn(len(captions)), videos)
        to_text = Grid(shared, captions, shared.asking[sample.drawn(len(shared.asking))])
    spaces: list[DualSpace] = list(shared.spaces)
    if len(spaces) == 2:
        spaces.insert(0, "hybrid")
    hybrid = hybrid_of(to_video, scoring) if len(shared.spaces) == 2 else None
    by_direction = [directions(to_video, "captions", spaces, hybrid)]
    if len(shared.asking):
        if hybrid is not None and to_text is not to_video:
            hybrid = hybrid_of(to_text, scoring)
        by_direction.append(directions(to_text, "videos", spaces, hybrid))
    return [SpaceFigures(space, [figures[space] for figures in by_direction]) for space in spaces]


def mean_precision(rows: DualRows, scoring: Scoring) -> float:
    """mean(mAP text → video, mAP video → text) of `evaluate_dual` by the score of `scoring.space`, in [0, 1]."""
    used = rows if scoring.space == "hybrid" else only_space(rows, scoring.space)
    shared = SharedDual(used, scoring.transform, 0, _CPU)
    grid = Grid(shared, np.arange(len(rows.text_present)), np.arange(len(rows.video_present)))
    hybrid = hybrid_of(grid, scoring) if scoring.space == "hybrid" else None
    ways: tuple[Asks, Asks] = ("captions", "videos")
    counted = [_counted(grid, asks, [scoring.space], hybrid) for asks in ways]
    return fmean(
        float(average_precision(counts[scoring.space].standing(), search.relevance, "expected").mean())
        for search, counts in counted
    )


def checkpoint_figures(
    loaded: TrainedModel,
    manifest: Manifest,
    evaluation: EvaluationConfig,
    subset: QuerySubset | None = None,
    stored: EmbeddedRows | None = None,
    sample: QuerySample | None = None,
) -> list[SpaceFigures]:
    """`evaluate_dual` of a data set, and of its captions in `subset`; DatasetError if there are no items.

    sample: of the queries of both. stored: the data set's embeddings, where they are already computed.
    """
    model, rows = dual_encoder(loaded).config, embed_dual(loaded, manifest, stored)
    if not rows.video_present.any() or not len(rows.captions):
        raise DatasetError(f"{manifest.uri}: no video has frames of {model.feature}, or there is no caption")
    scoring = replace(dual_scoring(loaded), latent_weight=evaluation.latent_weight, normalise=evaluation.normalise)
    figures = evaluate_dual(rows, scoring, sample)
    if subset is None:
        return figures
    chosen = np.isin(rows.caption_key, subset.caption_keys)
    part = only_captions(rows, chosen)
    if not part.video_present.any() or not chosen.any():
        raise DatasetError(
            f"{manifest.uri} has no {subset.name} query whose video has frames; vtr concepts --ambiguous corpus names "
            "more"
        )
    return [*figures, *(replace(of_space, queries=subset.name) for of_space in evaluate_dual(part, scoring, sample))]


def dual_metric_values(figures: Sequence[SpaceFigures], prefix: str) -> dict[str, float]:
    """The metrics by name: `<prefix>/t2v/r1` … by the first score, `<prefix>/latent/t2v/r1` … by the others."""
    values: dict[str, float] = {}
    for number, of_space in enumerate(figures):
        values.update(metric_values(of_space.directions, f"{prefix}/{of_space.space}" if number else prefix))
    return values
