"""The synthetic world: videos whose clips, narrations and true concepts are a function of (seed, video index).

A clip's truth is one concept per slot: who, does what, to what, with what, where. Nothing depends on any other video,
so any part of the world can be made anywhere, in any order.
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
"""Purposes of random streams: the first number of their seeds."""

AGENT, ACTION, OBJECT, TOOL, PLACE = range(len(SLOTS))
_OTHER_TOOL = 0.2


class SyntheticSettings(SourceSettings):
    """The size and the difficulty of the world."""

    left_out_unset: ClassVar[frozenset[str]] = frozenset({"scenes"})

    num_clips: PositiveInt = 6000
    """Clips, about: the number of videos is this divided by the mean number of clips of a video."""
    seed: NonNegativeInt = 0
    """Another seed is another world."""
    dim_2d: PositiveInt = 128
    """Values of the first video stream, which sees agent, object, tool and place (2048 in the published features)."""
    dim_3d: PositiveInt = 128
    """Values of the second video stream, which sees action, agent and object (2048 in the published features)."""
    dim_audio: PositiveInt = 64
    """Dimension of the audio stream, which depends on action and tool."""
    num_concepts: PositiveInt = 40
    """Concepts of every slot; those beyond 40 have made-up names."""
    zipf: NonNegativeFloat = 1.0
    """Concept r of a slot has a frequency in proportion to r ** -zipf."""
    mention: float = Field(default=0.6, gt=0, le=1)
    """Probability that a narration names a slot's concept; one slot is always named."""
    misalignment: float = Field(default=0.25, ge=0, lt=1)
    """Probability that a narration describes the previous or next clip instead of its own."""
    noise: NonNegativeFloat = 1.0
    """Standard deviation of each feature value's noise; a concept moves it by about 1."""
    style: NonNegativeFloat = 2.0
    """Standard deviation, per feature value, of a video's look, which has few dimensions and means nothing."""
    scenes: NonNegativeInt = 0
    """Scenes, one of which every clip is in: it decides what a feature means, so that no sum of fixed vectors tells a
    clip's concepts (0: a concept moves features the same way everywhere)."""
    missing_audio: float = Field(default=0.2, ge=0, le=1)
    """Probability that a clip has no audio."""
    min_clips: PositiveInt = 3
    """Fewest clips of a video."""
    max_clips: PositiveInt = 9
    """Most clips of a video; the number is uniform between the two."""

    @model_validator(mode="after")
    def _check_clips(self) -> "SyntheticSettings":
        if self.max_clips < self.min_clips:
            raise ValueError(f"max_clips must be at least min_clips ({self.min_clips})")
        return self

    @property
    def num_videos(self) -> int:
        """Videos in the world."""
        return max(1, round(2 * self.num_clips / (self.min_clips + self.max_clips)))

    @cached_property
    def frequencies(self) -> Float[np.ndarray, " concepts"]:
        """The probability of each concept of a slot."""
        weights = np.arange(1, self.num_concepts + 1, dtype=np.float64) ** -self.zipf
        return weights / weights.sum()

    def scene(self, video: int, num_clips: int) -> Int[np.ndarray, " clips"] | None:
        """The scene of each clip of a video, uniformly distributed and named by no narration; None without scenes."""
        return self.stream(SCENES, video).integers(self.scenes, size=num_clips) if self.scenes else None

    def stream(self, purpose: int, index: int) -> np.random.Generator:
        """The random numbers of one video (or of one slot's vectors) for one purpose."""
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


def neighbours(clip: int, num_clips: int) -> list[int]:
    """The clips just before and just after; one at the border of a video, none where the clip is the only one."""
    return [other for other in (clip - 1, clip + 1) if 0 <= other < num_clips]


def video_id(video: int) -> str:
    """The id of a video by its index."""
    return f"syn{video:08d}"


def clip_id(video: int, clip: int) -> str:
    """The id of a clip by its video's index and its place there, both counted from 0."""
    return f"{video_id(video)}_{clip:02d}"


def indices(clip: str) -> tuple[int, int]:
    """The inverse of `clip_id`: (video's index, place in it)."""
    video, _, place = clip.removeprefix("syn").partition("_")
    return int(video), int(place)


def captions(settings: SyntheticSettings, video: int, content: Truth) -> list[str]:
    """One narration per clip, of the clip itself or, with probability `misalignment`, of a neighbour drawn evenly."""
    rng = settings.stream(NARRATION, video)
    return [_caption(settings, clip, content, rng) for clip in range(len(content))]


def _caption(settings: SyntheticSettings, clip: int, content: Truth, rng: np.random.Generator) -> str:
    described, others = clip, neighbours(clip, len(content))
    if others and rng.random() < settings.misalignment:
        described = others[rng.integers(len(others))]
    mentioned = rng.random(len(SLOTS)) < settings.mention
    mentioned[rng.integers(len(SLOTS))] |= not mentioned.any()
    words = {}
    for slot, concept, named in zip(SLOTS, content.concepts[described], mentioned, strict=True):
        choices = names(slot, int(concept))
        word = choices[rng.integers(len(choices))]
        if named:
            words[slot] = word
    return narrate(words, rng)
