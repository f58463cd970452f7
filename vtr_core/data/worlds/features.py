"""Features of the synthetic world: sums of concept vectors, a vector of the video, noise, rectified."""

from functools import cached_property

import numpy as np
from jaxtyping import Float, Float16

from vtr_core.data.worlds.clips import ACTION, AGENT, FEATURES, OBJECT, PLACE, TOOL, WEIGHTS, SyntheticSettings, Truth
from vtr_core.data.worlds.words import SLOTS

STYLE_DIM = 8
_SEEN_2D = {AGENT: 1.0, OBJECT: 1.0, TOOL: 0.8, PLACE: 1.0}
_SEEN_3D = {ACTION: 1.2, AGENT: 0.5, OBJECT: 0.5}
_HEARD = {ACTION: 1.0, TOOL: 1.0}


class Recorder:
    """The fixed random vectors of one world and the features that they make; built once per process."""

    def __init__(self, settings: SyntheticSettings) -> None:
        self.settings = settings

    @cached_property
    def _streams(self) -> tuple["_Stream", "_Stream", "_Stream"]:
        s = self.settings
        layout = ((s.dim_2d, _SEEN_2D), (s.dim_3d, _SEEN_3D), (s.dim_audio, _HEARD))
        first, second, third = (_Stream(s, index, dim, seen) for index, (dim, seen) in enumerate(layout))
        return first, second, third

    def record(self, video: int, content: Truth) -> list[dict[str, Float16[np.ndarray, " dim"]]]:
        """The features of each clip: `video` = L2(2D) ⊕ L2(3D), and L2 `audio` where the clip has sound."""
        rng = self.settings.stream(FEATURES, video)
        spatial, temporal, audio = (stream.record(content, rng) for stream in self._streams)
        silent = rng.random(len(content)) < self.settings.missing_audio
        visual = np.concatenate([spatial, temporal], axis=1).astype(np.float16)
        sound = audio.astype(np.float16)
        return [
            {"video": visual[c]} if silent[c] else {"video": visual[c], "audio": sound[c]} for c in range(len(content))
        ]


class _Stream:
    """One sensor: x = L2(relu(Σ_slot weight · vector[slot, concept] + style · look + noise · ε))."""

    def __init__(self, settings: SyntheticSettings, index: int, dim: int, seen: dict[int, float]) -> None:
        rng = settings.stream(WEIGHTS, index)
        shape = (len(SLOTS), settings.num_concepts, dim)
        weights = np.array([seen.get(slot, 0.0) for slot in range(len(SLOTS))], np.float32)
        self._vectors = rng.standard_normal(shape, np.float32) * weights[:, None, None]
        self._looks = rng.standard_normal((STYLE_DIM, dim), np.float32) / np.sqrt(np.float32(STYLE_DIM))
        self._style, self._noise = settings.style, settings.noise

    def record(self, content: Truth, rng: np.random.Generator) -> Float[np.ndarray, "clips dim"]:
        dim = self._looks.shape[1]
        seen = self._vectors[np.arange(len(SLOTS)), content.concepts].sum(axis=1)
        look = self._style * (rng.standard_normal(STYLE_DIM, np.float32) @ self._looks)
        noise = self._noise * rng.standard_normal((len(content), dim), np.float32)
        values = np.maximum(seen + look + noise, 0)
        return values / np.maximum(np.linalg.norm(values, axis=1, keepdims=True), np.float32(1e-12))
