"""Synthetic described videos, whose scenes, frame counts and captions are functions of (seed, video index).

A video shows an agent with a certain look at a place, with one action per scene. The ground truth of a scene is one
concept per slot. Videos are independent of each other.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from jaxtyping import Float, Int
from pydantic import Field, NonNegativeFloat, NonNegativeInt, PositiveInt, model_validator

from vtr_core.config.settings import SourceSettings
from vtr_core.data.worlds.video_words import ACTION, AGENT, COLOUR, CONCEPTS, LOOK, OBJECT, PLACE, PREPOSITIONS, SLOTS

CONTENT, DESCRIPTIONS, FRAMES, WEIGHTS = range(200, 204)
"""Purposes of random streams, the first number of their seeds, distinct from those of other synthetic data."""

TEMPLATES = (
    "{who} is {action} {object} {place}",
    "{place} {who} is {action} {object}",
    "there is {who} {action} {object} {place}",
    "{who} {action} {object} {place}",
)
SOMEBODY, ACTING, SOMETHING = ("someone", "somebody"), ("using", "showing"), ("something", "it")
"""Placeholders for slots that a caption does not name."""


class SyntheticVideoSettings(SourceSettings):
    """Size and difficulty of the synthetic data."""

    num_videos: PositiveInt = 1500
    """Number of videos."""
    seed: NonNegativeInt = 0
    """Random seed of all content."""
    dim: PositiveInt = 128
    """Dimension of frame features."""
    min_frames: PositiveInt = 8
    """Minimum number of frames of a video."""
    max_frames: PositiveInt = 24
    """Maximum number of frames of a video; the number is uniform between the two."""
    min_scenes: PositiveInt = 1
    """Minimum number of scenes of a video."""
    max_scenes: PositiveInt = 3
    """Maximum number of scenes of a video."""
    captions_per_video: PositiveInt = 5
    """Number of captions of every video, each of one of its scenes."""
    zipf: NonNegativeFloat = 0.7
    """Exponent of the frequency of the r-th concept of a slot, proportional to r ** -zipf."""
    mention: float = Field(default=0.75, gt=0, le=1)
    """Probability that a caption names a slot's concept; action or object is always named."""
    noise: NonNegativeFloat = 1.5
    """Standard deviation of the noise of a feature value, on which the effect of a concept is about 1."""
    style: NonNegativeFloat = 2.0
    """Standard deviation, per feature value, of a video's style, a low-dimensional nuisance variable."""

    @model_validator(mode="after")
    def _check_ranges(self) -> "SyntheticVideoSettings":
        if self.max_frames < self.min_frames:
            raise ValueError(f"max_frames must be at least min_frames ({self.min_frames})")
        if self.max_scenes < self.min_scenes:
            raise ValueError(f"max_scenes must be at least min_scenes ({self.min_scenes})")
        if self.min_frames < self.max_scenes:
            raise ValueError(f"min_frames must be at least max_scenes ({self.max_scenes}), a frame for each")
        return self

    @cached_property
    def frequencies(self) -> tuple[Float[np.ndarray, " concepts"], ...]:
        """The probability of each concept of each slot."""
        weights = [np.arange(1, len(concepts) + 1, dtype=np.float64) ** -self.zipf for concepts in CONCEPTS]
        return tuple(values / values.sum() for values in weights)

    def stream(self, purpose: int, index: int) -> np.random.Generator:
        """The random generator of one video for one purpose."""
        return np.random.default_rng((purpose, self.seed, index))


@dataclass(frozen=True)
class VideoContent:
    """The content of a video: `concepts[s]` are the concepts of scene s by slot; frame t belongs to scene
    `scene[t]`."""

    concepts: Int[np.ndarray, "scenes slots"]
    scene: Int[np.ndarray, " frames"]


def video_content(settings: SyntheticVideoSettings, video: int) -> VideoContent:
    """The content of a video: look, agent and place are constant; action, object and its colour vary by scene."""
    rng = settings.stream(CONTENT, video)
    scenes = int(rng.integers(settings.min_scenes, settings.max_scenes + 1))
    frames = int(rng.integers(settings.min_frames, settings.max_frames + 1))
    drawn = [rng.choice(len(p), scenes, p=p) for p in settings.frequencies]
    concepts = np.stack(drawn, axis=1)
    concepts[:, [LOOK, AGENT, PLACE]] = concepts[0, [LOOK, AGENT, PLACE]]
    cuts = np.sort(rng.choice(np.arange(1, frames), scenes - 1, replace=False))
    return VideoContent(concepts, np.searchsorted(cuts, np.arange(frames), side="right"))


def descriptions(settings: SyntheticVideoSettings, video: int, content: VideoContent) -> list[str]:
    """The captions of a video, each of a uniformly drawn scene; every scene has one if there are enough captions."""
    rng = settings.stream(DESCRIPTIONS, video)
    scenes = rng.permutation(np.arange(settings.captions_per_video) % len(content.concepts))
    return [_description(settings, content.concepts[scene], rng) for scene in scenes.tolist()]


def _description(
    settings: SyntheticVideoSettings, concepts: Int[np.ndarray, " slots"], rng: np.random.Generator
) -> str:
    """A sentence whose template and placeholders are independent of the concepts."""
    named = rng.random(len(SLOTS)) < settings.mention
    named[(ACTION, OBJECT)[rng.integers(2)]] |= not named[[ACTION, OBJECT]].any()
    words = {}
    for slot, concept in enumerate(concepts.tolist()):
        names = CONCEPTS[slot][concept]
        word = names[rng.integers(len(names))]
        if named[slot]:
            words[slot] = word
    template = TEMPLATES[rng.integers(len(TEMPLATES))]
    somebody, acting, something = (choices[rng.integers(2)] for choices in (SOMEBODY, ACTING, SOMETHING))
    parts = {
        "who": _noun_phrase(words, LOOK, AGENT) or somebody,
        "action": words.get(ACTION, acting),
        "object": _noun_phrase(words, COLOUR, OBJECT) or something,
        "place": f"{PREPOSITIONS.get(words[PLACE], 'in')} the {words[PLACE]}" if PLACE in words else "",
    }
    return " ".join(template.format(**parts).split())


def _noun_phrase(words: Mapping[int, str], adjective: int, noun: int) -> str:
    """An article, the adjective if named, and the noun; "" where the noun is not named."""
    if noun not in words:
        return ""
    phrase = f"{words[adjective]} {words[noun]}" if adjective in words else words[noun]
    return f"{'an' if phrase[0] in 'aeiou' else 'a'} {phrase}"
