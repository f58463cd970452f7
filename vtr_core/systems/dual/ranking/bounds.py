"""Lowest and highest scores of each space of a dual encoder, by which the hybrid score rescales them."""

from dataclasses import dataclass
from typing import Literal

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from vtr_core.config.evaluation import Normalisation
from vtr_core.errors import ConfigError
from vtr_core.similarity import rescale
from vtr_core.systems.dual.ranking.tiles import DualSpace, Grid, Tile
from vtr_core.train.distributed.gather import widest

Asks = Literal["captions", "videos"]
"""Which side of the scores are the queries."""
BOTH: tuple[DualSpace, DualSpace] = ("latent", "concept")


@dataclass(frozen=True)
class Hybrid:
    """The hybrid scores of a tile: `similarity.hybrid`, with bounds over present captions and videos.

    bounds: of each space, lowest and highest score for each caption (or the same for all), and for each video.
    """

    weight: float
    of_captions: dict[DualSpace, Float[Tensor, "captions 2"]]
    of_videos: dict[DualSpace, Float[Tensor, "videos 2"]]

    def scores(self, tile: Tile, asks: Asks) -> Float[Tensor, "captions videos"]:
        """The scores where these are the queries."""
        latent, concept = (self._rescaled(tile, space, asks) for space in BOTH)
        return self.weight * latent + (1 - self.weight) * concept

    def _rescaled(self, tile: Tile, space: DualSpace, asks: Asks) -> Float[Tensor, "captions videos"]:
        if asks == "captions":
            low, high = self.of_captions[space][tile.captions].unsqueeze(1).unbind(dim=2)
        else:
            low, high = self.of_videos[space][tile.videos].unsqueeze(0).unbind(dim=2)
        return rescale(tile.scores[space], low, high)


def hybrid_of(grid: Grid, weight: float, normalise: Normalisation, known: Float[np.ndarray, "2 2"]) -> Hybrid:
    """The bounds of a grid, equal on every worker as far as its own captions and all videos go.

    known: those of training batches, rows latent and concept; ConfigError where they are asked for and unknown.
    """
    if normalise == "train":
        if not (known[:, 1] > known[:, 0]).all():
            raise ConfigError(
                "evaluation.normalise = 'train' needs the ranges of training batches, which this model has not seen; "
                "use 'query' or 'matrix'"
            )
        return _everywhere(grid, weight, torch.from_numpy(known))
    by_caption, by_video = _extremes(grid)
    if normalise == "query":
        return Hybrid(weight, *({s: _finite(of[s]) for s in BOTH} for of in (by_caption, by_video)))
    text = torch.from_numpy(grid.text_present())
    found = [widest(_extent(by_caption[space][text]).to(grid.shared.device)).cpu() for space in BOTH]
    return _everywhere(grid, weight, _finite(torch.cat(found)))


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


def _extent(ranges: Float[Tensor, "rows 2"]) -> Float[Tensor, "1 2"]:
    whole = torch.cat([_nothing(1), ranges])
    return torch.stack([whole[:, 0].amin(), whole[:, 1].amax()]).unsqueeze(0)


def _finite(ranges: Float[Tensor, "rows 2"]) -> Float[Tensor, "rows 2"]:
    """Zeros where there was no score."""
    return torch.where((ranges[:, 1] < ranges[:, 0]).unsqueeze(1), 0, ranges)


def _everywhere(grid: Grid, weight: float, ranges: Float[Tensor, "spaces 2"]) -> Hybrid:
    held = zip(BOTH, ranges.float(), strict=True)
    sides = [(one.expand(len(grid.captions), 2), one.expand(len(grid.videos), 2)) for _, one in held]
    return Hybrid(weight, *(dict(zip(BOTH, side, strict=True)) for side in zip(*sides, strict=True)))
