"""Synthetic narrated videos, whose clips, narrations and true concepts are functions of (seed, video index).

The ground truth of a clip is one concept per slot: agent, action, object, tool, place. Videos are independent of each
other, so that they can be generated anywhere, in any order.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np
from jaxtyping import Float, Int
from pydantic import Field, NonNegativeFloat, NonNegativeInt, PositiveInt, model_validator

from vtr_core.config.settings import SourceSettings
from vtr_core.data.worlds.grammar import narrate
from vtr_core.data.worlds.words import SLOTS, names

LATENTS, NARRATION, FEATURES, WEIGHTS, SCENES = range(5)
"""Purposes of random streams, the first number of their seeds."""

AGENT, ACTION, OBJECT, TOOL, PLACE = range(len(SLOTS))
_OTHER_TOOL = 0.2


class SyntheticSettings(SourceSettings):
    """Size and difficulty of the synthetic data."""

    left_out_unset: ClassVar[frozenset[str]] = frozenset({"scenes", "named_scenes"})

    num_clips: PositiveInt = 6000
    """Approximate number of clips: the number of videos is this divided by the mean number of clips of a video."""
    seed: NonNegativeInt = 0
    """Random seed of all content."""
    dim_2d: PositiveInt = 128
    """Dimension of the 2D stream, which depends on agent, object, tool and place (2048 in the published features)."""
    dim_3d: PositiveInt = 128
    """Dimension of the 3D stream, which depends on action, agent and object (2048 in the published features)."""
    dim_audio: PositiveInt = 64
    """Dimension of the audio stream, which depends on action and tool."""
    num_concepts: PositiveInt = 40
    """Number of concepts per slot; those beyond 40 have made-up names."""
    zipf: NonNegativeFloat = 1.0
    """Exponent of the frequency of the r-th concept of a slot, proportional to r ** -zipf."""
    mention: float = Field(default=0.6, gt=0, le=1)
    """Probability that a narration names a slot's concept; one slot is always named."""
    misalignment: float = Field(default=0.25, ge=0, lt=1)
    """Probability that a narration describes the previous or next clip instead of its own."""
    noise: NonNegativeFloat = 1.0
    """Standard deviation of the noise of a feature value, on which the effect of a concept is about 1."""
    style: NonNegativeFloat = 2.0
    """Standard deviation, per feature value, of a video's style, a low-dimensional nuisance variable."""
    scenes: NonNegativeInt = 0
    """Number of scenes. The scene of a clip rotates the effect of concepts on features, so that no linear map recovers
    the concepts (0: the effect of a concept is the same everywhere)."""
    named_scenes: bool = False
    """The scene is the clip's place, its number modulo the number of scenes, and every narration names the place.
    Otherwise the scene is uniformly distributed, and no narration names it."""
    missing_audio: float = Field(default=0.2, ge=0, le=1)
    """Probability that a clip has no audio."""
    min_clips: PositiveInt = 3
    """Minimum number of clips of a video."""
    max_clips: PositiveInt = 9
    """Maximum number of clips of a video; the number is uniform between the two."""

    @model_validator(mode="after")
    def _check_clips(self) -> "SyntheticSettings":
        if self.max_clips < self.min_clips:
            raise ValueError(f"max_clips must be at least min_clips ({self.min_clips})")
        return self

    @model_validator(mode="after")
    def _check_scenes(self) -> "SyntheticSettings":
        if self.named_scenes and not self.scenes:
            raise ValueError("named_scenes needs scenes, the number of scenes, such as 8")
        return self

    @property
    def num_videos(self) -> int:
        """The number of videos."""
        return max(1, round(2 * self.num_clips / (self.min_clips + self.max_clips)))

    @cached_property
    def frequencies(self) -> Float[np.ndarray, " concepts"]:
        """The probability of each concept of a slot."""
        weights = np.arange(1, self.num_concepts + 1, dtype=np.float64) ** -self.zipf
        return weights / weights.sum()

    def stream(self, purpose: int, index: int) -> np.random.Generator:
        """The random generator of one video (or of one slot's vectors) for one purpose."""
        return np.random.default_rng((purpose, self.seed, index))


@dataclass(frozen=True)
class Truth:
    """The latent content of a video: `concepts[c, s]` is the concept of slot s in clip c; times in seconds."""

    concepts: Int[np.ndarray, "clips slots"]
    start: Float[np.ndarray, " clips"]
    end: Float[np.ndarray, " clips"]

    def __len__(self) -> int:
        return len(self.concepts)


def truth(settings: SyntheticSettings, video: int) -> Truth:
    """The content of a video: agent and place are constant, the tool mostly; action and object differ between clips."""
    rng = settings.stream(LATENTS, video)
    num_clips = int(rng.integers(settings.min_clips, settings.max_clips + 1))
    concepts = rng.choice(settings.num_concepts, size=(num_clips, len(SLOTS)), p=settings.frequencies)
    concepts[:, [AGENT, PLACE]] = concepts[0, [AGENT, PLACE]]
    usual = rng.random(num_clips) >= _OTHER_TOOL
    concepts[usual, TOOL] = concepts[0, TOOL]
    pauses, lengths = rng.uniform(0, 3, num_clips), rng.uniform(5, 15, num_clips)
    end = np.round(np.cumsum(pauses + lengths), 2)
    return Truth(concepts, np.round(end - lengths, 2), end)


def scenes(settings: SyntheticSettings, video: int, content: Truth) -> Int[np.ndarray, " clips"] | None:
    """The scene of each clip of a video, see `SyntheticSettings.named_scenes`; None without scenes."""
    if not settings.scenes:
        return None
    if settings.named_scenes:
        return content.concepts[:, PLACE] % settings.scenes
    return settings.stream(SCENES, video).integers(settings.scenes, size=len(content))


def neighbours(clip: int, num_clips: int) -> list[int]:
    """The adjacent clips: two, one at the border of a video, none for a single clip."""
    return [other for other in (clip - 1, clip + 1) if 0 <= other < num_clips]


def video_id(video: int) -> str:
    """The id of a video by its index."""
    return f"syn{video:08d}"


def clip_id(video: int, clip: int) -> str:
    """The id of a clip by its video's index and its position, both from 0."""
    return f"{video_id(video)}_{clip:02d}"


def indices(clip: str) -> tuple[int, int]:
    """The inverse of `clip_id`: (video index, position)."""
    video, _, place = clip.removeprefix("syn").partition("_")
    return int(video), int(place)


def captions(settings: SyntheticSettings, video: int, content: Truth) -> list[str]:
    """One narration per clip, of the clip or, with probability `misalignment`, of a uniformly drawn neighbour."""
    rng = settings.stream(NARRATION, video)
    return [_caption(settings, clip, content, rng) for clip in range(len(content))]


def _caption(settings: SyntheticSettings, clip: int, content: Truth, rng: np.random.Generator) -> str:
    described, others = clip, neighbours(clip, len(content))
    if others and rng.random() < settings.misalignment:
        described = others[rng.integers(len(others))]
    mentioned = rng.random(len(SLOTS)) < settings.mention
    mentioned[rng.integers(len(SLOTS))] |= not mentioned.any()
    mentioned[PLACE] |= settings.named_scenes
    words = {}
    for slot, concept, named in zip(SLOTS, content.concepts[described], mentioned, strict=True):
        choices = names(slot, int(concept))
        word = choices[rng.integers(len(choices))]
        if named:
            words[slot] = word
    return narrate(words, rng)
