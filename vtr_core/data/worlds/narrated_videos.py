"""Synthetic narrated videos: clips, narrations, true concepts and features of (seed, video index)."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np
from jaxtyping import Float, Float16, Int
from pydantic import Field, NonNegativeFloat, NonNegativeInt, PositiveInt, model_validator

from vtr_core.data.worlds.described_videos import WorldSettings

SLOTS = ("agent", "action", "object", "tool", "place")

_LISTED = {
    "agent": """woman/lady man/guy chef girl boy gardener mechanic teacher/instructor grandmother/grandma
        carpenter/woodworker artist/painter doctor/physician farmer student/pupil barber/hairdresser dancer plumber
        electrician baker tailor/seamstress athlete potter nurse fisherman/angler photographer musician engineer soldier
        scientist/researcher clown blacksmith butcher florist pilot sailor monk waiter/waitress librarian lifeguard
        magician/wizard""",
    "action": """cut/chop/slice stir/mix/blend clean/wash/rinse paint fold peel measure fry/saute bake/roast boil/simmer
        glue/attach smooth/polish carve sew/stitch bend/flex lift/raise pour press/squeeze wrap/cover open/unlock
        pierce/perforate shake crush/smash trim/prune draw/sketch weigh repair/fix/mend assemble/build remove/detach
        heat/warm freeze/chill dry roll tie throw/toss catch/grab inspect/examine decorate/garnish spray weave/knit""",
    "object": """onion/shallot dough/pastry tomato potato/spud chicken/poultry board/plank shirt/blouse bike/bicycle
        engine/motor cake/cupcake paper hair wall flower/blossom fish/salmon guitar car/vehicle phone/smartphone egg
        rice bread/loaf apple carrot cheese/cheddar bowl/dish box/carton bottle/flask chair/stool table/desk
        shoe/sneaker pipe/tube wire/cable candle clay leather/suede curtain/drape window door statue/figurine
        necklace/pendant""",
    "tool": """knife/blade spoon/ladle brush hammer/mallet pan/skillet scissors/shears tape wrench/spanner needle stove
        tongs/tweezers fork whisk bucket/pail sponge rope/cord pliers screwdriver ruler drill saw chisel towel/cloth
        machine camera roller axe/hatchet rake shovel/spade hose torch clamp/vise stapler thermometer grater
        strainer/sieve trowel lathe pump crane""",
    "place": """kitchen garden/backyard/yard garage studio workshop/shed bathroom/washroom office classroom/schoolroom
        street/road beach/shore park gym hospital/clinic farm/ranch restaurant/diner bakery forest/woods basement/cellar
        balcony/terrace barn/stable store/shop/market river/creek stage/theater library bedroom laboratory/lab
        church/chapel factory/mill harbor/dock tent castle airport museum/gallery desert mountain/hill bridge
        stadium/arena station rooftop cabin/cottage""",
}
_CONCEPTS = {slot: tuple(tuple(names.split("/")) for names in text.split()) for slot, text in _LISTED.items()}
_SYLLABLES = tuple(consonant + vowel for consonant in "bdfgklmnprstvz" for vowel in "aeiou")
_PREFIXES = dict(zip(SLOTS, ("xa", "xe", "xi", "xo", "xu"), strict=True))


def names(slot: str, concept: int) -> tuple[str, ...]:
    """The words for a concept: English ones for the first forty of a slot, a made-up one for others."""
    listed = _CONCEPTS[slot]
    return listed[concept] if concept < len(listed) else (_made_up(slot, concept),)


def _made_up(slot: str, concept: int) -> str:
    """A unique word for (slot, concept): the slot's prefix, then the number in base 70 with syllables as digits."""
    word = ""
    while concept:
        concept, digit = divmod(concept, len(_SYLLABLES))
        word = _SYLLABLES[digit] + word
    return _PREFIXES[slot] + word


OPENERS = ("", "", "so", "okay so", "and now", "and then", "next", "all right", "well now", "as i said", "you see")
SUBJECTS = ("we", "you", "i", "they", "she", "he", "somebody")
MODALS = ("will", "can", "should", "wants to", "is going to", "has to", "needs to")
VAGUE_VERBS = ("take", "get", "handle", "show", "use", "go for")
VAGUE_OBJECTS = ("it", "this", "that one", "everything", "some of them")
WITH = ("with the", "using the", "with a", "and for that there is the")
IN = ("in the", "here in the", "at the", "right there in the")
CLOSERS = (
    "",
    "",
    "",
    "like this",
    "just like that",
    "if you want",
    "very carefully",
    "really quick",
    "you know",
    "again",
)
TEMPLATES = (
    "{opener} {subject} {modal} {verb} {object} {tool} {place} {closer}",
    "{opener} {place} {subject} {modal} {verb} {object} {tool} {closer}",
    "{opener} {tool} {subject} {modal} {verb} {object} {place} {closer}",
    "{opener} look at {object} {place} because {subject} {modal} {verb} it {tool} {closer}",
    "{opener} {place} {object} is what {subject} {modal} {verb} {tool} {closer}",
)


def narrate(words: Mapping[str, str], rng: np.random.Generator) -> str:
    """A sentence with the given content words, {slot: word}, and no information on other slots.

    Template and filler do not depend on the words, nor on which slots are absent beyond what takes their places.
    """

    def drawn(choices: tuple[str, ...]) -> str:
        return choices[rng.integers(len(choices))]

    def after(introductions: tuple[str, ...], slot: str) -> str:
        introduction = drawn(introductions)
        return f"{introduction} {words[slot]}" if slot in words else ""

    parts = {
        "opener": drawn(OPENERS),
        "closer": drawn(CLOSERS),
        "modal": drawn(MODALS),
        "subject": f"the {words['agent']}" if "agent" in words else drawn(SUBJECTS),
        "verb": words["action"] if "action" in words else drawn(VAGUE_VERBS),
        "object": f"the {words['object']}" if "object" in words else drawn(VAGUE_OBJECTS),
        "tool": after(WITH, "tool"),
        "place": after(IN, "place"),
    }
    return " ".join(drawn(TEMPLATES).format(**parts).split())


LATENTS, NARRATION, FEATURES, WEIGHTS, SCENES = range(5)
"""Purposes of random streams, the first number of their seeds."""

AGENT, ACTION, OBJECT, TOOL, PLACE = range(len(SLOTS))
_OTHER_TOOL = 0.2


class SyntheticSettings(WorldSettings):
    """Size and difficulty of the synthetic data."""

    left_out_unset: ClassVar[frozenset[str]] = frozenset({"scenes", "named_scenes"})

    num_clips: PositiveInt = 6000
    """Approximate number of clips: the number of videos is this divided by the mean number of clips of a video."""
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
    def _check(self) -> "SyntheticSettings":
        if self.max_clips < self.min_clips:
            raise ValueError(f"max_clips must be at least min_clips ({self.min_clips})")
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
    described, adjacent = clip, neighbours(clip, len(content))
    if adjacent and rng.random() < settings.misalignment:
        described = adjacent[rng.integers(len(adjacent))]
    mentioned = rng.random(len(SLOTS)) < settings.mention
    mentioned[rng.integers(len(SLOTS))] |= not mentioned.any()
    mentioned[PLACE] |= settings.named_scenes
    words = {}
    for slot, concept, is_mentioned in zip(SLOTS, content.concepts[described], mentioned, strict=True):
        choices = names(slot, int(concept))
        word = choices[rng.integers(len(choices))]
        if is_mentioned:
            words[slot] = word
    return narrate(words, rng)


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
        return (
            _Stream(s, 0, s.dim_2d, _SEEN_2D),
            _Stream(s, 1, s.dim_3d, _SEEN_3D),
            _Stream(s, 2, s.dim_audio, _HEARD),
        )

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

    def __init__(self, settings: SyntheticSettings, index: int, dim: int, effects: dict[int, float]) -> None:
        rng = settings.stream(WEIGHTS, index)
        shape = (len(SLOTS), settings.num_concepts, dim)
        weights = np.array([effects.get(slot, 0.0) for slot in range(len(SLOTS))], np.float32)
        self._vectors = rng.standard_normal(shape, np.float32) * weights[:, None, None]
        self._looks = rng.standard_normal((STYLE_DIM, dim), np.float32) / np.sqrt(np.float32(STYLE_DIM))
        self._style, self._noise = settings.style, settings.noise
        self._scenes = _Scenes(settings, index, dim, weights) if settings.scenes else None

    def record(
        self, content: Truth, scene: Int[np.ndarray, " clips"] | None, rng: np.random.Generator
    ) -> Float[np.ndarray, "clips dim"]:
        dim = self._looks.shape[1]
        if self._scenes is None or scene is None:
            signal = self._vectors[np.arange(len(SLOTS)), content.concepts].sum(axis=1)
        else:
            signal = self._scenes.signal(content.concepts, scene)
        look = self._style * (rng.standard_normal(STYLE_DIM, np.float32) @ self._looks)
        noise = self._noise * rng.standard_normal((len(content), dim), np.float32)
        values = np.maximum(signal + look + noise, 0)
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

    def signal(
        self, concepts: Int[np.ndarray, "clips slots"], scene: Int[np.ndarray, " clips"]
    ) -> Float[np.ndarray, "clips dim"]:
        codes = self._codes[np.arange(len(SLOTS)), concepts].reshape(len(concepts), -1)
        turned = np.einsum("cij,cj->ci", self._rotations[scene], codes)
        return np.concatenate([turned, self._scene_codes[scene]], axis=1) @ self._projection
