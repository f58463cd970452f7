"""Features of synthetic clips: rectified sums of concept vectors, a style vector of the video, and noise."""

from functools import cached_property

import numpy as np
from jaxtyping import Float, Float16, Int

from vtr_core.data.worlds.clips import (
    ACTION,
    AGENT,
    FEATURES,
    OBJECT,
    PLACE,
    SCENES,
    TOOL,
    WEIGHTS,
    SyntheticSettings,
    Truth,
    scenes,
)
from vtr_core.data.worlds.words import SLOTS

STYLE_DIM = 8
_SENSORS = 2**40
"""Offset of the random streams of scenes, beyond all video indices."""
CODE_DIM = 24
"""Dimension of the codes of concepts and scenes, in data with scenes."""
_SEEN_2D = {AGENT: 1.0, OBJECT: 1.0, TOOL: 0.8, PLACE: 1.0}
_SEEN_3D = {ACTION: 1.2, AGENT: 0.5, OBJECT: 0.5}
_HEARD = {ACTION: 1.0, TOOL: 1.0}


class Recorder:
    """Feature generator with the fixed random vectors of a seed; built once per process."""

    def __init__(self, settings: SyntheticSettings) -> None:
        self.settings = settings

    @cached_property
    def _streams(self) -> tuple["_Stream", "_Stream", "_Stream"]:
        s = self.settings
        layout = ((s.dim_2d, _SEEN_2D), (s.dim_3d, _SEEN_3D), (s.dim_audio, _HEARD))
        first, second, third = (_Stream(s, index, dim, seen) for index, (dim, seen) in enumerate(layout))
        return first, second, third

    def record(self, video: int, content: Truth) -> list[dict[str, Float16[np.ndarray, " dim"]]]:
        """The features of each clip: `video` = L2(2D) ⊕ L2(3D), and L2-normalised `audio` where the clip has sound."""
        rng = self.settings.stream(FEATURES, video)
        scene = scenes(self.settings, video, content)
        spatial, temporal, audio = (stream.record(content, scene, rng) for stream in self._streams)
        silent = rng.random(len(content)) < self.settings.missing_audio
        visual = np.concatenate([spatial, temporal], axis=1).astype(np.float16)
        sound = audio.astype(np.float16)
        return [
            {"video": visual[c]} if silent[c] else {"video": visual[c], "audio": sound[c]} for c in range(len(content))
        ]


class _Stream:
    """One stream: x = L2(relu(Σ_slot weight · vector[slot, concept] + style · look + noise · ε)).

    With scenes the sum is that of `_Scenes`.
    """

    def __init__(self, settings: SyntheticSettings, index: int, dim: int, seen: dict[int, float]) -> None:
        rng = settings.stream(WEIGHTS, index)
        shape = (len(SLOTS), settings.num_concepts, dim)
        weights = np.array([seen.get(slot, 0.0) for slot in range(len(SLOTS))], np.float32)
        self._vectors = rng.standard_normal(shape, np.float32) * weights[:, None, None]
        self._looks = rng.standard_normal((STYLE_DIM, dim), np.float32) / np.sqrt(np.float32(STYLE_DIM))
        self._style, self._noise = settings.style, settings.noise
        self._scenes = _Scenes(settings, index, dim, weights) if settings.scenes else None

    def record(
        self, content: Truth, scene: Int[np.ndarray, " clips"] | None, rng: np.random.Generator
    ) -> Float[np.ndarray, "clips dim"]:
        dim = self._looks.shape[1]
        if self._scenes is None or scene is None:
            seen = self._vectors[np.arange(len(SLOTS)), content.concepts].sum(axis=1)
        else:
            seen = self._scenes.seen(content.concepts, scene)
        look = self._style * (rng.standard_normal(STYLE_DIM, np.float32) @ self._looks)
        noise = self._noise * rng.standard_normal((len(content), dim), np.float32)
        values = np.maximum(seen + look + noise, 0)
        return values / np.maximum(np.linalg.norm(values, axis=1, keepdims=True), np.float32(1e-12))


class _Scenes:
    """Signal of a clip in scene s: P [R_s o, c_s], where o are the weighted codes of its concepts, slot by slot.

    R_s is a random rotation and c_s a random code of the scene, P a fixed random projection. The same concepts have
    different features in different scenes, so no single linear map recovers them: the scene has to be inferred first.
    """

    def __init__(self, settings: SyntheticSettings, index: int, dim: int, weights: Float[np.ndarray, " slots"]) -> None:
        rng = settings.stream(SCENES, _SENSORS + index)
        size = len(SLOTS) * CODE_DIM
        self._codes = rng.standard_normal((len(SLOTS), settings.num_concepts, CODE_DIM), np.float32)
        self._codes *= weights[:, None, None]
        self._rotations = np.linalg.qr(rng.standard_normal((settings.scenes, size, size), np.float32))[0]
        self._scene_codes = rng.standard_normal((settings.scenes, CODE_DIM), np.float32)
        self._projection = rng.standard_normal((size + CODE_DIM, dim), np.float32) / np.sqrt(np.float32(CODE_DIM))

    def seen(
        self, concepts: Int[np.ndarray, "clips slots"], scene: Int[np.ndarray, " clips"]
    ) -> Float[np.ndarray, "clips dim"]:
        codes = self._codes[np.arange(len(SLOTS)), concepts].reshape(len(concepts), -1)
        turned = np.einsum("cij,cj->ci", self._rotations[scene], codes)
        return np.concatenate([turned, self._scene_codes[scene]], axis=1) @ self._projection
