"""Synthetic patch tokens of frames in which a small object determines the caption."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from jaxtyping import Float, Float16, Int
from pydantic import Field, NonNegativeFloat, PositiveInt, model_validator

from vtr_core.data.worlds.described_videos import (
    COLOUR,
    CONCEPTS,
    OBJECT,
    PLACE,
    PREPOSITIONS,
    WorldSettings,
    normal,
)

CONTENT, CAPTIONS, FRAMES, VECTORS, WEIGHTS = range(300, 305)
"""Purposes of random streams, the first number of their seeds, distinct from those of other synthetic data."""

MANNER_DIM = 4
_SEEN = {OBJECT: 1.0, COLOUR: 0.7, PLACE: 0.8}
"""Effect of a concept on a token value, by slot."""


class SyntheticTokenSettings(WorldSettings):
    """Size and difficulty of the synthetic data."""

    num_videos: PositiveInt = 4000
    """Number of videos."""
    dim: PositiveInt = 32
    """Dimension of tokens and of caption vectors."""
    grid: PositiveInt = 4
    """Number of patches along a side of a frame."""
    frames: PositiveInt = 2
    """Number of frames of a video."""
    sides: tuple[PositiveInt, ...] = (1,)
    """Possible side lengths of the object in patches, drawn uniformly for each video."""
    captions_per_video: PositiveInt = 4
    """Number of captions of every video."""
    gain: NonNegativeFloat = 3.0
    """Strength of the object in its patches, relative to 1 for the place."""
    trace: NonNegativeFloat = 0.0
    """Strength of the object in [CLS]."""
    visible: float = Field(default=0.75, gt=0, le=1)
    """Probability that a frame shows the object; at least one frame does."""
    noise: NonNegativeFloat = 0.5
    """Standard deviation of the noise of patch values."""
    cls_noise: NonNegativeFloat = 0.3
    """Standard deviation of the noise of [CLS] values."""
    text_noise: NonNegativeFloat = 0.5
    """Standard deviation of the noise of caption vectors."""
    style: NonNegativeFloat = 1.0
    """Standard deviation of a video's style, a low-dimensional nuisance variable."""

    @model_validator(mode="after")
    def _things_fit(self) -> "SyntheticTokenSettings":
        if not self.sides or max(self.sides) > self.grid:
            raise ValueError(f"sides = {self.sides} must name at least one side, none above grid = {self.grid}")
        return self


@dataclass(frozen=True)
class TokenContent:
    """The content of a video: an object of `concepts` (by slot) at `corners`, `side` patches wide, where `visible`."""

    concepts: dict[int, int]
    side: int
    corners: Int[np.ndarray, "frames 2"]
    """Row and column of the object's first patch in each frame."""
    visible: tuple[bool, ...]


def token_content(settings: SyntheticTokenSettings, video: int) -> TokenContent:
    """The content of a video; the object moves by at most a patch along each axis between frames."""
    rng = settings.stream(CONTENT, video)
    concepts = {slot: int(rng.integers(len(CONCEPTS[slot]))) for slot in (OBJECT, COLOUR, PLACE)}
    side = int(rng.choice(settings.sides))
    last = settings.grid - side
    corners = [rng.integers(0, last + 1, 2)]
    for _ in range(settings.frames - 1):
        corners.append(np.clip(corners[-1] + rng.integers(-1, 2, 2), 0, last))
    visible = rng.random(settings.frames) < settings.visible
    visible[rng.integers(settings.frames)] = True
    return TokenContent(concepts, side, np.stack(corners), tuple(visible.tolist()))


def token_captions(settings: SyntheticTokenSettings, video: int, content: TokenContent) -> list[str]:
    """Captions that name the object, its colour and the place by one of their synonyms."""
    rng = settings.stream(CAPTIONS, video)
    captions = []
    for _ in range(settings.captions_per_video):
        names = {slot: CONCEPTS[slot][concept] for slot, concept in content.concepts.items()}
        word = {slot: choices[rng.integers(len(choices))] for slot, choices in names.items()}
        article = "an" if word[COLOUR][0] in "aeiou" else "a"
        place = f"{PREPOSITIONS.get(word[PLACE], 'in')} the {word[PLACE]}"
        captions.append(f"{article} {word[COLOUR]} {word[OBJECT]} {place}")
    return captions


class TokenCamera:
    """Generator of tokens and caption vectors with the fixed random vectors of a seed; built once per process.

    patch = .8 · place + style · manner + noise · ε, plus gain · thing in the object's patches, thing = object + .7 ·
    colour; [CLS] = .8 · place + style · manner + trace · thing + cls_noise · ε; caption = thing + .8 · place +
    text_noise · ε.
    """

    def __init__(self, settings: SyntheticTokenSettings) -> None:
        self.settings = settings

    def record(self, video: int, content: TokenContent) -> Float16[np.ndarray, "frames values"]:
        """Tokens of each frame, [CLS] followed by the patches in row-major order: (1 + grid²) · dim values."""
        settings, rng = self.settings, self.settings.stream(FRAMES, video)
        manner = rng.standard_normal(MANNER_DIM, np.float32) @ self._manners
        background = self._concept(PLACE, content) + settings.style * manner
        signal = self._thing(content)
        patches = np.tile(background, (settings.frames, settings.grid, settings.grid, 1))
        for frame, (row, column) in enumerate(content.corners):
            if content.visible[frame]:
                patches[frame, row : row + content.side, column : column + content.side] += settings.gain * signal
        patches += settings.noise * rng.standard_normal(patches.shape, np.float32)
        cls = background + settings.trace * signal
        cls = cls + settings.cls_noise * rng.standard_normal((settings.frames, settings.dim), np.float32)
        tokens = np.concatenate([cls[:, None], patches.reshape(settings.frames, -1, settings.dim)], axis=1)
        return tokens.reshape(settings.frames, -1).astype(np.float16)

    def texts(self, video: int, content: TokenContent) -> Float16[np.ndarray, "captions dim"]:
        """The vector of each caption."""
        settings, rng = self.settings, self.settings.stream(VECTORS, video)
        meant = self._thing(content) + self._concept(PLACE, content)
        noise = rng.standard_normal((settings.captions_per_video, settings.dim), np.float32)
        return (meant + settings.text_noise * noise).astype(np.float16)

    def _thing(self, content: TokenContent) -> Float[np.ndarray, " dim"]:
        return self._concept(OBJECT, content) + self._concept(COLOUR, content)

    def _concept(self, slot: int, content: TokenContent) -> Float[np.ndarray, " dim"]:
        return _SEEN[slot] * self._vectors[slot][content.concepts[slot]]

    @cached_property
    def _vectors(self) -> dict[int, Float[np.ndarray, "concepts dim"]]:
        rng = self.settings.stream(WEIGHTS, 0)
        return {slot: normal(rng, len(CONCEPTS[slot]), self.settings.dim) for slot in (OBJECT, COLOUR, PLACE)}

    @cached_property
    def _manners(self) -> Float[np.ndarray, "manners dim"]:
        rng = self.settings.stream(WEIGHTS, 1)
        return normal(rng, MANNER_DIM, self.settings.dim) / np.sqrt(np.float32(MANNER_DIM))
