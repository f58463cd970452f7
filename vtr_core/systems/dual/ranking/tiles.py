"""Scores of captions and videos in each space of a dual encoder, tile by tile; every worker has some captions."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np
import torch
from jaxtyping import Bool, Float, Float32, Int64
from torch import Tensor

from vtr_core.config.concept_similarity import ConceptSimilarity
from vtr_core.metrics.standing import slices
from vtr_core.similarity import cosine, generalized_jaccard
from vtr_core.systems.dual.rows import DualRows
from vtr_core.train.distributed.row_shares import SharedVectors, gather_columns

DualSpace = Literal["hybrid", "latent", "concept"]
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

    def __init__(self, own: DualRows, concept_similarity: ConceptSimilarity, rank: int, device: torch.device) -> None:
        self.rank, self.device, self.jaccard = rank, device, concept_similarity == "jaccard"
        (self.video_present,), starts = gather_columns([own.video_present], device)
        video = own.caption_video + starts[rank]
        (self.caption_video, self.text_present), captions = gather_columns([video, own.text_present], device)
        sides = {"latent": (own.latent_text, own.latent_video), "concept": (own.concept_text, own.concept_video)}
        self.spaces: dict[DualSpace, tuple[SharedVectors, SharedVectors]] = {}
        for name in ("latent", "concept"):
            text, seen = sides[name]
            if text is not None and seen is not None:
                of_captions = SharedVectors(text, captions, rank, device)
                self.spaces[name] = of_captions, SharedVectors(seen, starts, rank, device)

    @cached_property
    def asking(self) -> Int64[np.ndarray, " videos"]:
        """The videos with frames and a caption with a known word."""
        told = np.zeros(len(self.video_present), bool)
        told[self.caption_video[self.text_present]] = True
        return np.flatnonzero(self.video_present & told)


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
            fetched = self._fetch(part) if len(owners) > 1 else None
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
            seen = {space: held[1].fetch(self.videos[videos]) for space, held in self.shared.spaces.items()}
            for captions in self.own:
                texts = self._fetched.get(captions.start) or self._texts(captions)
                yield Tile(captions, videos, {space: self._score(space, texts[space], seen[space]) for space in seen})

    def _texts(self, captions: slice) -> dict[DualSpace, Float32[Tensor, "captions dim"]]:
        return {space: held[0].own(self.captions[captions]) for space, held in self.shared.spaces.items()}

    def _fetch(self, captions: slice) -> dict[DualSpace, Float32[Tensor, "captions dim"]]:
        return {space: held[0].fetch(self.captions[captions]) for space, held in self.shared.spaces.items()}

    def _score(self, space: DualSpace, texts: Tensor, videos: Tensor) -> Float[Tensor, "captions videos"]:
        if space == "concept" and self.shared.jaccard:
            return generalized_jaccard(torch.sigmoid(texts), torch.sigmoid(videos))
        return cosine(texts, videos)
