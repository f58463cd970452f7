"""Synthetic described videos: scenes, frame features and captions of (seed, video index)."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from jaxtyping import Float, Float16, Int
from pydantic import Field, NonNegativeFloat, NonNegativeInt, PositiveInt, model_validator

from vtr_core.config.override import SourceSettings

SLOTS = ("look", "agent", "action", "colour", "object", "place")
LOOK, AGENT, ACTION, COLOUR, OBJECT, PLACE = range(len(SLOTS))

_LISTED = {
    "look": "young old/elderly tall happy/smiling sad angry strong tired",
    "agent": """woman/lady man/guy girl boy cook/chef dancer teacher farmer child/kid player singer doctor worker
        student soldier driver""",
    "action": """cutting/slicing washing holding throwing/tossing painting opening fixing/repairing carrying/lifting
        cooking/frying kicking cleaning/wiping eating building folding breaking/smashing pushing catching
        drawing/sketching closing hiding burning wrapping pouring selling""",
    "colour": "red blue green white black yellow small/tiny big/large brown wooden broken round",
    "object": """ball apple car/vehicle potato bottle paper/page table/desk guitar box/carton bicycle/bike egg
        shirt/blouse door cake phone bread/loaf chair onion book fish lamp rope plate flower boat shoe window bag""",
    "place": """kitchen street/road garden/yard room park beach/shore stage office field forest/woods garage gym
        river market/shop bathroom classroom""",
}
CONCEPTS = tuple(tuple(tuple(names.split("/")) for names in _LISTED[slot].split()) for slot in SLOTS)
"""For each slot its concepts, most frequent first, and for each concept its names."""

PREPOSITIONS = {"beach": "at", "shore": "at", "river": "at", "market": "at", "stage": "on", "field": "on"}
"""Prepositions of place names other than "in"."""


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


class WorldSettings(SourceSettings):
    """Size and difficulty of synthetic data, all of which is a function of the seed and an index."""

    seed: NonNegativeInt = 0
    """Random seed of all content."""

    def stream(self, purpose: int, index: int) -> np.random.Generator:
        """The random generator of one video (or of one slot's vectors) for one purpose."""
        return np.random.default_rng((purpose, self.seed, index))


def normal(rng: np.random.Generator, rows: int, dim: int) -> Float[np.ndarray, "rows dim"]:
    """Standard normal vectors in float32."""
    return rng.standard_normal((rows, dim), np.float32)


class SyntheticVideoSettings(WorldSettings):
    """Size and difficulty of the synthetic data."""

    num_videos: PositiveInt = 1500
    """Number of videos."""
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
    mentioned = rng.random(len(SLOTS)) < settings.mention
    mentioned[(ACTION, OBJECT)[rng.integers(2)]] |= not mentioned[[ACTION, OBJECT]].any()
    words = {}
    for slot, concept in enumerate(concepts.tolist()):
        names = CONCEPTS[slot][concept]
        word = names[rng.integers(len(names))]
        if mentioned[slot]:
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
        signal = sum(self._vectors[slot][concepts[:, slot]] for slot in range(len(SLOTS)))
        angle = 2 * np.pi * (np.arange(frames, dtype=np.float32)[:, None] / PERIOD + rng.random())
        first, second = (vectors[concepts[:, ACTION]] for vectors in self._movements)
        manner = rng.standard_normal(MANNER_DIM, np.float32) @ self._manners
        noise = rng.standard_normal((frames, settings.dim), np.float32)
        values = signal + np.cos(angle) * first + np.sin(angle) * second
        return np.maximum(values + settings.style * manner + settings.noise * noise, 0).astype(np.float16)

    @cached_property
    def _vectors(self) -> list[Float[np.ndarray, "concepts dim"]]:
        rng = self.settings.stream(WEIGHTS, 0)
        dim = self.settings.dim
        return [normal(rng, len(concepts), dim) * _SEEN[slot] for slot, concepts in enumerate(CONCEPTS)]

    @cached_property
    def _movements(self) -> list[Float[np.ndarray, "actions dim"]]:
        rng = self.settings.stream(WEIGHTS, 1)
        return [normal(rng, len(CONCEPTS[ACTION]), self.settings.dim) for _ in range(2)]

    @cached_property
    def _manners(self) -> Float[np.ndarray, "manners dim"]:
        rng = self.settings.stream(WEIGHTS, 2)
        return normal(rng, MANNER_DIM, self.settings.dim) / np.sqrt(np.float32(MANNER_DIM))
