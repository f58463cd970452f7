"""The metrics of both directions in the spaces of a dual encoder, counted tile by tile."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Int64
from torch import Tensor

from vtr_core.metrics.chance import chance
from vtr_core.metrics.ranking import check_relevance, standing_metrics
from vtr_core.metrics.relevance import Relevance, from_labels
from vtr_core.metrics.standing import PairCounts
from vtr_core.retrieval.evaluate.retrieval import Direction
from vtr_core.systems.dual.ranking.bounds import Asks, Hybrid
from vtr_core.systems.dual.ranking.tiles import DualSpace, Grid, Tile
from vtr_core.train.distributed.row_shares import add_counts, add_scores


def directions(
    grid: Grid, asks: Asks, spaces: Sequence[DualSpace], hybrid: Hybrid | None
) -> dict[DualSpace, Direction]:
    """The metrics of one direction under the scores of each of `spaces`; equal on every worker."""
    asked = _captions_ask(grid) if asks == "captions" else _videos_ask(grid)
    check_relevance(asked.relevance, "count_as_failure")
    counts = {space: PairCounts(asked.relevance) for space in spaces}
    for tile in grid.tiles():
        for space, one in counts.items():
            asked.take(one, tile, _scores(tile, space, asks, hybrid))
    for one in counts.values():
        add_scores(one, grid.shared.device)
    for tile in grid.tiles():
        for space, one in counts.items():
            asked.count(one, tile, _scores(tile, space, asks, hybrid))
    found = {}
    for space, one in counts.items():
        add_counts(one, grid.shared.device)
        found[space] = asked.direction(one)
    return found


def _scores(tile: Tile, space: DualSpace, asks: Asks, hybrid: Hybrid | None) -> Tensor:
    if space == "hybrid":
        assert hybrid is not None, "of a model with both spaces"
        return hybrid.scores(tile, asks)
    return tile.scores[space]


@dataclass(frozen=True)
class _Asked:
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


def _within(kept: Int64[np.ndarray, " kept"], part: slice) -> slice:
    first, last = np.searchsorted(kept, [part.start, part.stop]).tolist()
    return slice(first, last)


def _captions_ask(grid: Grid) -> _Asked:
    """Every caption is a query; the videos with frames are items."""
    videos = np.flatnonzero(grid.video_present())
    relevance = from_labels(grid.shared.caption_video[grid.captions], grid.videos[videos]).only(grid.text_present())
    return _Asked("t2v", "text → video", "captions", np.arange(len(grid.captions)), videos, relevance)


def _videos_ask(grid: Grid) -> _Asked:
    """The videos with frames and a caption are queries; the captions with a known word are items."""
    captions = np.flatnonzero(grid.text_present())
    videos = np.flatnonzero(np.isin(grid.videos, grid.shared.asking))
    relevance = from_labels(grid.videos[videos], grid.shared.caption_video[grid.captions[captions]])
    return _Asked("v2t", "video → text", "videos", captions, videos, relevance)
