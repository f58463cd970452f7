"""Scores of captions and videos in each space and by the hybrid of both, tile by tile or whole."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np
import torch
from jaxtyping import Bool, Float, Float32, Int64
from torch import Tensor

from vtr_core.analysis.transforms import Transform, concept_similarity
from vtr_core.config.run import EvaluationConfig
from vtr_core.embedding.collectives import SharedVectors, gather_columns, widest
from vtr_core.embedding.video_ranking import Scoring
from vtr_core.metrics.ranks import slices
from vtr_core.similarity import combined, cosine
from vtr_core.systems.dual.dual_embeddings import DualRows, dual_encoder
from vtr_core.systems.dual.model import HybridEncoder
from vtr_core.systems.loaded_model import TrainedModel
from vtr_core.systems.spaces import Encoded

DualSpace = Literal["hybrid", "latent", "concept"]
BOTH: tuple[DualSpace, DualSpace] = ("latent", "concept")
Asks = Literal["captions", "videos"]
"""Which side of the scores are the queries."""
CAPTION_CHUNK, VIDEO_CHUNK = 1024, 4096
HELD = 2**28
"""Maximum number of scores of a space that all workers keep together (1 GiB); beyond, tiles are computed anew."""


@dataclass(frozen=True)
class Tile:
    """The scores of a range of captions and a range of videos in each space of the model."""

    captions: slice
    videos: slice
    scores: dict[DualSpace, Float[Tensor, "captions videos"]]


class SharedDual:
    """Captions and videos of all workers, in order of rank, of which each has the vectors of its own."""

    def __init__(self, own: DualRows, transform: Transform, rank: int, device: torch.device) -> None:
        self.rank, self.device, self.transform = rank, device, transform
        (self.video_present,), starts = gather_columns([own.video_present], device)
        video = own.caption_video + starts[rank]
        (self.caption_video, self.text_present), captions = gather_columns([video, own.text_present], device)
        self.spaces: dict[DualSpace, tuple[SharedVectors, SharedVectors]] = {
            space: (
                SharedVectors(own.text[space], captions, rank, device),
                SharedVectors(own.video[space], starts, rank, device),
            )
            for space in BOTH
            if space in own.text
        }

    @cached_property
    def asking(self) -> Int64[np.ndarray, " videos"]:
        """The videos with frames and a caption with a known word."""
        captioned = np.zeros(len(self.video_present), bool)
        captioned[self.caption_video[self.text_present]] = True
        return np.flatnonzero(self.video_present & captioned)


class Grid:
    """Chosen captions against chosen videos, both ascending, in tiles: those of this worker's captions.

    A range of captions belongs to the worker that has the first of them. Every worker asks for tiles equally often.
    """

    def __init__(
        self, shared: SharedDual, captions: Int64[np.ndarray, " captions"], videos: Int64[np.ndarray, " videos"]
    ) -> None:
        self.shared, self.captions, self.videos = shared, captions, videos
        self._fetched: dict[int, dict[DualSpace, Float32[Tensor, "captions dim"]]] = {}
        self.own: list[slice] = []
        some = next(iter(shared.spaces.values()))[0]
        for part in slices(len(captions), CAPTION_CHUNK):
            owners = some.owners(captions[part])
            fetched = None
            if len(owners) > 1:
                fetched = {space: held[0].fetch(captions[part]) for space, held in shared.spaces.items()}
            if owners[0] == shared.rank:
                self.own.append(part)
                if fetched is not None:
                    self._fetched[part.start] = fetched
        self._held: list[Tile] | None = None

    def tiles(self) -> Iterator[Tile]:
        """Every tile of this worker, once."""
        if len(self.captions) * len(self.videos) > HELD:
            return self._computed()
        if self._held is None:
            self._held = list(self._computed())
        return iter(self._held)

    def text_present(self) -> Bool[np.ndarray, " captions"]:
        """Which of the captions have a known word."""
        return self.shared.text_present[self.captions]

    def video_present(self) -> Bool[np.ndarray, " videos"]:
        """Which of the videos have frames."""
        return self.shared.video_present[self.videos]

    def _computed(self) -> Iterator[Tile]:
        for videos in slices(len(self.videos), VIDEO_CHUNK):
            vectors = {space: both[1].fetch(self.videos[videos]) for space, both in self.shared.spaces.items()}
            for captions in self.own:
                texts = self._fetched.get(captions.start)
                if texts is None:
                    texts = {s: held[0].own(self.captions[captions]) for s, held in self.shared.spaces.items()}
                scores = {space: self._score(space, texts[space], vectors[space]) for space in vectors}
                yield Tile(captions, videos, scores)

    def _score(self, space: DualSpace, texts: Tensor, videos: Tensor) -> Float[Tensor, "captions videos"]:
        if space == "latent":
            return cosine(texts, videos)
        transform = self.shared.transform
        assert transform.similarity != "dot", "of a trained concept space"
        return concept_similarity(transform.apply(texts), transform.apply(videos), transform.similarity)


@dataclass(frozen=True)
class Hybrid:
    """The hybrid scores of a tile: `similarity.combined`, with bounds over present captions and videos.

    bounds: of each space, lowest and highest score for each caption (or the same for all), and for each video.
    """

    weight: float
    of_captions: dict[DualSpace, Float[Tensor, "captions 2"]]
    of_videos: dict[DualSpace, Float[Tensor, "videos 2"]]

    def scores(self, tile: Tile, asks: Asks) -> Float[Tensor, "captions videos"]:
        """The scores where these are the queries."""
        if asks == "captions":
            bounds = [self.of_captions[space][tile.captions].unsqueeze(1) for space in BOTH]
        else:
            bounds = [self.of_videos[space][tile.videos].unsqueeze(0) for space in BOTH]
        return combined(tile.scores["latent"], tile.scores["concept"], self.weight, bounds)


def hybrid_of(grid: Grid, scoring: Scoring) -> Hybrid:
    """The bounds of a grid under the policy of `scoring`, equal on every worker as far as its own captions and all
    videos go.
    """
    weight = scoring.latent_weight
    if scoring.normalise == "train":
        assert scoring.ranges is not None, "checked by the scoring"
        return _everywhere(grid, weight, scoring.ranges)
    by_caption, by_video = _extremes(grid)
    if scoring.normalise == "query":
        return Hybrid(weight, *({s: _finite(of[s]) for s in BOTH} for of in (by_caption, by_video)))
    extents = []
    for space in BOTH:
        ranges = torch.cat([_nothing(1), by_caption[space][torch.from_numpy(grid.text_present())]])
        extent = torch.stack([ranges[:, 0].amin(), ranges[:, 1].amax()]).unsqueeze(0)
        extents.append(widest(extent.to(grid.shared.device)).cpu())
    return _everywhere(grid, weight, _finite(torch.cat(extents)))


def _extremes(grid: Grid) -> tuple[dict[DualSpace, Tensor], dict[DualSpace, Tensor]]:
    """Of each space: the lowest and highest score of each of this worker's captions over the present videos, and of
    each video over all workers' present captions.
    """
    text, video = torch.from_numpy(grid.text_present()), torch.from_numpy(grid.video_present())
    by_caption = {space: _nothing(len(grid.captions)) for space in BOTH}
    by_video = {space: _nothing(len(grid.videos)) for space in BOTH}
    for tile in grid.tiles():
        kept_text, kept_video = text[tile.captions], video[tile.videos]
        for space in BOTH:
            scores = tile.scores[space]
            if kept_video.any():
                _widen(by_caption[space][tile.captions], scores[:, kept_video], dim=1)
            if kept_text.any():
                _widen(by_video[space][tile.videos], scores[kept_text], dim=0)
    device = grid.shared.device
    return by_caption, {space: widest(ranges.to(device)).cpu() for space, ranges in by_video.items()}


def _nothing(rows: int) -> Float[Tensor, "rows 2"]:
    return torch.tensor([torch.inf, -torch.inf]).repeat(rows, 1)


def _widen(ranges: Float[Tensor, "rows 2"], scores: Tensor, dim: int) -> None:
    torch.minimum(ranges[:, 0], scores.amin(dim), out=ranges[:, 0])
    torch.maximum(ranges[:, 1], scores.amax(dim), out=ranges[:, 1])


def _finite(ranges: Float[Tensor, "rows 2"]) -> Float[Tensor, "rows 2"]:
    """Zeros where there was no score."""
    return torch.where((ranges[:, 1] < ranges[:, 0]).unsqueeze(1), 0, ranges)


def _everywhere(grid: Grid, weight: float, ranges: Float[Tensor, "spaces 2"]) -> Hybrid:
    of_captions, of_videos = (
        {space: bounds.expand(rows, 2) for space, bounds in zip(BOTH, ranges.float(), strict=True)}
        for rows in (len(grid.captions), len(grid.videos))
    )
    return Hybrid(weight, of_captions, of_videos)


def whole_scores(rows: DualRows, scoring: Scoring) -> dict[DualSpace, Float32[np.ndarray, "captions videos"]]:
    """The tiles of evaluation together: hybrid scores, where the rows have both spaces, then those of each.

    -inf for a caption without a known word, which evaluation counts as a failure, and a video without frames, no item.
    """
    shared = SharedDual(rows, scoring.transform, 0, torch.device("cpu"))
    captions, videos = len(rows.text_present), len(rows.video_present)
    grid = Grid(shared, np.arange(captions), np.arange(videos))
    hybrid = hybrid_of(grid, scoring) if len(shared.spaces) == 2 else None
    spaces: list[DualSpace] = list(shared.spaces) if hybrid is None else ["hybrid", *shared.spaces]
    matrices: dict[DualSpace, np.ndarray] = {space: np.empty((captions, videos), np.float32) for space in spaces}
    for tile in grid.tiles():
        scores = tile.scores if hybrid is None else {**tile.scores, "hybrid": hybrid.scores(tile, "captions")}
        for space, whole in matrices.items():
            whole[tile.captions, tile.videos] = scores[space].numpy()
    for whole in matrices.values():
        whole[~rows.text_present], whole[:, ~rows.video_present] = -np.inf, -np.inf
    return matrices


def compare(loaded: TrainedModel, queries: Encoded, items: Encoded) -> Float32[np.ndarray, "queries items"]:
    """The scores by which evaluation ranks items for queries: hybrid where the model has both spaces.

    Texts or videos may be the queries: each space's similarity is symmetric, and ranges are those of the queries.
    """
    rows = DualRows(
        text=queries.vectors,
        video=items.vectors,
        caption_video=np.zeros(len(queries), np.int64),
        captions=(),
        video_id=(),
        video_key=np.arange(len(items)),
        caption_key=np.arange(len(queries)),
        text_present=queries.known,
        video_present=items.known,
    )
    return next(iter(whole_scores(rows, dual_scoring(loaded)).values()))


def dual_scoring(loaded: TrainedModel) -> Scoring:
    """The policy by which the model is evaluated, searched, served and explained: that of its run's `evaluation`."""
    return scoring_of(dual_encoder(loaded), loaded.config.evaluation)


def scoring_of(model: HybridEncoder, evaluation: EvaluationConfig) -> Scoring:
    """The policy of `evaluation` for a model's spaces, with the ranges that it keeps."""
    transform, ranges = Transform(model.config.concept_similarity), model.ranges.detach().float().cpu()
    return Scoring(model.config.space, transform, evaluation.latent_weight, evaluation.normalise, ranges)
