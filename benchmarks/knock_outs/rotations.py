"""A world in which a clip's scene, which no caption names, rotates what its features mean, and every concept is told.

Less is hidden than in `vtr ingest synthetic --scenes`: a clip has three concepts, uniformly drawn, and its caption is
their three names, so that a low recall comes from the network and not from what captions leave out.
"""

from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from typing import ClassVar

import numpy as np
from jaxtyping import Float, Int
from pydantic import NonNegativeFloat, NonNegativeInt, PositiveInt

from vtr_core.config.settings import SourceSettings
from vtr_core.data.records.schema import FeatureSpec
from vtr_core.data.sources.source import Clip, Drops, VideoEntry
from vtr_core.data.sources.synthetic import split_entries

_SLOTS = 3
_CODE_DIM = 24
_CONSONANTS, _VOWELS = "bdfgklmnprstvz", "aeiou"
_WORLD = 2**40
"""The random stream of what all clips share, beyond all indices of clips."""


class Rotations(SourceSettings):
    """Clips whose feature is P [R_s o, c_s] + noise: o the codes of its concepts, R_s a random rotation and c_s a
    random code of its scene, P a fixed random projection for each modality.
    """

    name: ClassVar[str] = "rotations"

    num_clips: PositiveInt = 12_000
    num_scenes: PositiveInt = 64
    num_concepts: PositiveInt = 40
    """Concepts of each of the three slots."""
    dim: PositiveInt = 512
    """Dimension of `video` and of `audio`."""
    noise: NonNegativeFloat = 0.3
    """Standard deviation of the noise of a feature value; the signal's is 1."""
    seed: NonNegativeInt = 0

    def features(self) -> tuple[FeatureSpec, ...]:
        """`video` and `audio`, which show the same with different projections and noise."""
        return FeatureSpec("video", self.dim), FeatureSpec("audio", self.dim)

    def videos(self, drops: Drops) -> Sequence[VideoEntry]:  # noqa: ARG002  (nothing here can be at fault)
        """A video of one clip for each, see `split_entries`."""
        return split_entries([f"turned{index:06d}" for index in range(self.num_clips)], self.seed)

    def captions(self, videos: Sequence[VideoEntry]) -> Iterable[str]:
        """The captions of all clips."""
        return (self._caption(self._content(video.content)[0]) for video in videos)

    def clips(self, video: VideoEntry, drops: Drops) -> Iterator[Clip]:  # noqa: ARG002
        """The one clip of a video."""
        concepts, scene = self._content(video.content)
        codes = self._codes[np.arange(_SLOTS), concepts].ravel()
        shown = np.concatenate([self._turns[scene] @ codes, self._scene_codes[scene]])
        rng = np.random.default_rng((self.seed, video.content, 1))
        noise = self.noise * rng.standard_normal((2, self.dim))
        values = (shown @ self._projections + noise).astype(np.float16)
        yield Clip(
            video.video_id, 0.0, 10.0, self._caption(concepts), dict(zip(("video", "audio"), values, strict=True))
        )

    def _content(self, clip: int) -> tuple[Int[np.ndarray, " slots"], int]:
        """The concepts of a clip by slot, and its scene."""
        rng = np.random.default_rng((self.seed, clip, 0))
        return rng.integers(self.num_concepts, size=_SLOTS), int(rng.integers(self.num_scenes))

    def _caption(self, concepts: Int[np.ndarray, " slots"]) -> str:
        return " ".join(_word(slot, int(concept)) for slot, concept in enumerate(concepts))

    def _world(self, purpose: int) -> np.random.Generator:
        return np.random.default_rng((self.seed, _WORLD, purpose))

    @cached_property
    def _codes(self) -> Float[np.ndarray, "slots concepts dim"]:
        return self._world(0).standard_normal((_SLOTS, self.num_concepts, _CODE_DIM))

    @cached_property
    def _turns(self) -> Float[np.ndarray, "scenes size size"]:
        size = _SLOTS * _CODE_DIM
        return np.linalg.qr(self._world(1).standard_normal((self.num_scenes, size, size)))[0]

    @cached_property
    def _scene_codes(self) -> Float[np.ndarray, "scenes size"]:
        return self._world(2).standard_normal((self.num_scenes, _SLOTS * _CODE_DIM))

    @cached_property
    def _projections(self) -> Float[np.ndarray, "modalities codes dim"]:
        size = 2 * _SLOTS * _CODE_DIM
        return self._world(3).standard_normal((2, size, self.dim)) / np.sqrt(size)


def _word(slot: int, concept: int) -> str:
    """A made-up word, different for each concept of each slot."""
    rest, vowel = divmod(concept, len(_VOWELS))
    return "abc"[slot] + _CONSONANTS[rest % len(_CONSONANTS)] + _VOWELS[vowel] + "x" * (rest // len(_CONSONANTS))
