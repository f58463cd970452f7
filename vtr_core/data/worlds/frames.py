"""Frame features of synthetic described videos."""

from functools import cached_property

import numpy as np
from jaxtyping import Float, Float16

from vtr_core.data.worlds.video_words import ACTION, AGENT, COLOUR, CONCEPTS, LOOK, OBJECT, PLACE, SLOTS
from vtr_core.data.worlds.videos import FRAMES, WEIGHTS, SyntheticVideoSettings, VideoContent

MANNER_DIM = 4
PERIOD = 6
"""Period of a movement in frames."""
_SEEN = {LOOK: 0.7, AGENT: 1.0, ACTION: 0.7, COLOUR: 0.7, OBJECT: 1.0, PLACE: 1.0}


class Camera:
    """Frame generator with the fixed random vectors of a seed; built once per process.

    x_t = relu(Σ_slot weight · vector[slot, concept] + cos(2πφ_t) · a[action] + sin(2πφ_t) · b[action]
    + style · manner + noise · ε_t), with the concepts of the frame's scene and φ_t = t / PERIOD + the video's phase: an
    action affects single frames as well as their temporal order.
    """

    def __init__(self, settings: SyntheticVideoSettings) -> None:
        self.settings = settings

    def record(self, video: int, content: VideoContent) -> Float16[np.ndarray, "frames dim"]:
        """The frame features of a video."""
        rng, settings = self.settings.stream(FRAMES, video), self.settings
        concepts, frames = content.concepts[content.scene], len(content.scene)
        seen = sum(self._vectors[slot][concepts[:, slot]] for slot in range(len(SLOTS)))
        angle = 2 * np.pi * (np.arange(frames, dtype=np.float32)[:, None] / PERIOD + rng.random())
        first, second = (vectors[concepts[:, ACTION]] for vectors in self._movements)
        manner = rng.standard_normal(MANNER_DIM, np.float32) @ self._manners
        noise = rng.standard_normal((frames, settings.dim), np.float32)
        values = seen + np.cos(angle) * first + np.sin(angle) * second
        return np.maximum(values + settings.style * manner + settings.noise * noise, 0).astype(np.float16)

    @cached_property
    def _vectors(self) -> list[Float[np.ndarray, "concepts dim"]]:
        rng = self.settings.stream(WEIGHTS, 0)
        return [self._normal(rng, len(concepts)) * _SEEN[slot] for slot, concepts in enumerate(CONCEPTS)]

    @cached_property
    def _movements(self) -> list[Float[np.ndarray, "actions dim"]]:
        rng = self.settings.stream(WEIGHTS, 1)
        return [self._normal(rng, len(CONCEPTS[ACTION])) for _ in range(2)]

    @cached_property
    def _manners(self) -> Float[np.ndarray, "manners dim"]:
        return self._normal(self.settings.stream(WEIGHTS, 2), MANNER_DIM) / np.sqrt(np.float32(MANNER_DIM))

    def _normal(self, rng: np.random.Generator, rows: int) -> Float[np.ndarray, "rows dim"]:
        return rng.standard_normal((rows, self.settings.dim), np.float32)
