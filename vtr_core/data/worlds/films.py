"""Synthetic films of a moving coloured shape with a tone, and captions."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from types import MappingProxyType

import numpy as np
from jaxtyping import Bool, Float, Float32, UInt8

SIZE = 96
"""Width and height in pixels."""
FRAME_RATE = 8
SECONDS = 3.0
SAMPLE_RATE = 16_000

COLOURS = MappingProxyType(
    {
        "red": (220, 40, 40),
        "green": (40, 180, 60),
        "blue": (50, 80, 230),
        "yellow": (240, 220, 50),
        "white": (240, 240, 240),
        "purple": (150, 50, 190),
        "orange": (250, 140, 30),
    }
)
SHAPES = ("circle", "square", "triangle", "ring", "cross", "star")
MOTIONS = MappingProxyType(
    {
        "left": "moves to the left",
        "right": "moves to the right",
        "grow": "grows",
        "shrink": "shrinks",
        "blink": "blinks",
        "still": "stands still",
    }
)
TONES = MappingProxyType({"low": 220.0, "high": 1760.0, "rising": 0.0})
NUM_FRAMES = round(FRAME_RATE * SECONDS)


@dataclass(frozen=True)
class Film:
    """The content of one film."""

    colour: str
    shape: str
    motion: str
    tone: str
    seed: int

    @property
    def caption(self) -> str:
        """A sentence that describes the film."""
        article = "an" if self.colour.startswith("o") else "a"
        return f"{article} {self.colour} {self.shape} {MOTIONS[self.motion]} while a {self.tone} tone sounds"


def film(seed: int, index: int) -> Film:
    """Film number `index` of `seed`; every combination occurs once before any is repeated."""
    everything = list(product(COLOURS, SHAPES, MOTIONS, TONES))
    order = np.random.default_rng(seed).permutation(len(everything))
    colour, shape, motion, tone = everything[order[index % len(everything)]]
    return Film(colour, shape, motion, tone, seed * 1_000_003 + index)


def frames(content: Film) -> Iterator[tuple[float, UInt8[np.ndarray, "size size 3"]]]:
    """(time in seconds, picture) of every frame."""
    draw = np.random.default_rng(content.seed)
    ground = dark_ground(draw)
    place, radius = draw.uniform(0.35, 0.65, 2), draw.uniform(0.2, 0.3)
    for number in range(NUM_FRAMES):
        share = number / (NUM_FRAMES - 1)
        x, y, r = _moved(content.motion, share, place[0], place[1], radius)
        shown = content.motion != "blink" or int(share * 6) % 2 == 0
        pixels = ground.copy()
        if shown:
            pixels[inside(content.shape, x, y, r)] = COLOURS[content.colour]
        yield number / FRAME_RATE, pixels


def dark_ground(draw: np.random.Generator) -> UInt8[np.ndarray, "size size 3"]:
    """A dark grey picture with noise."""
    grey = draw.integers(20, 60) + draw.normal(0, 6, (SIZE, SIZE, 1))
    return np.broadcast_to(np.clip(grey, 0, 255).astype(np.uint8), (SIZE, SIZE, 3))


def _moved(motion: str, share: float, x: float, y: float, radius: float) -> tuple[float, float, float]:
    """Centre and radius, relative to the side of the picture, after a `share` of the film."""
    match motion:
        case "left":
            return 0.85 - 0.7 * share, y, radius
        case "right":
            return 0.15 + 0.7 * share, y, radius
        case "grow":
            return x, y, radius * (0.3 + 1.2 * share)
        case "shrink":
            return x, y, radius * (1.5 - 1.2 * share)
        case _:
            return x, y, radius


def inside(shape: str, x: float, y: float, radius: float) -> Bool[np.ndarray, "size size"]:
    """The pixels of a shape around (x, y), all relative to the side of the picture."""
    rows, columns = np.mgrid[:SIZE, :SIZE] / SIZE
    across, down = (columns - x) / radius, (rows - y) / radius
    distance = np.hypot(across, down)
    match shape:
        case "circle":
            return distance < 1
        case "square":
            return np.maximum(abs(across), abs(down)) < 0.85
        case "triangle":
            return (down < 0.7) & (2 * abs(across) - down < 1.0)
        case "ring":
            return (distance < 1) & (distance > 0.6)
        case "cross":
            return (np.minimum(abs(across), abs(down)) < 0.3) & (np.maximum(abs(across), abs(down)) < 1)
        case "star":
            return distance < 0.65 + 0.35 * np.cos(5 * np.arctan2(across, -down))
        case _:
            raise AssertionError(f"{shape} is no shape")


def sound(content: Film) -> Float32[np.ndarray, " samples"]:
    """The tone at a fifth of full scale, at SAMPLE_RATE: 220 Hz, 1,760 Hz, or rising from one to the other."""
    times: Float[np.ndarray, " samples"] = np.arange(round(SECONDS * SAMPLE_RATE)) / SAMPLE_RATE
    if content.tone != "rising":
        return (0.2 * np.sin(2 * np.pi * TONES[content.tone] * times)).astype(np.float32)
    low, high = TONES["low"], TONES["high"]
    octaves = np.log2(high / low) / SECONDS
    phase = low * (2 ** (octaves * times) - 1) / (octaves * np.log(2))
    return (0.2 * np.sin(2 * np.pi * phase)).astype(np.float32)
