"""Synthetic films of six small shapes, of which a caption names three: “red cross, blue star and green ring”.

Every film shows six colours and all six forms once each: films differ in which form has which colour. Whatever sums
over a picture says of colours apart from forms is the same for all of them. Films are functions of (seed, index).
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from jaxtyping import UInt8

from vtr_core.data.worlds.shapes import COLOURS, FRAME_RATE, NUM_FRAMES, SHAPES, dark_ground, inside

CROWD_COLOURS = tuple(COLOURS)[: len(SHAPES)]
RADIUS = 0.07
"""Of a shape, relative to the side of the picture; the single shape of other films has 0.2 to 0.3."""
NUM_NAMED, NUM_CAPTIONS = 3, 10
"""Shapes that a caption names, and captions of a film."""
_PLACES = 3
"""On each side of the picture; a film uses some of the 3 × 3."""
_FROM_MIDDLE = 0.06
"""Farthest that a shape is from the middle of its place, in each direction."""
_CONTENT, _NOISE = 501, 502
"""Streams of random numbers: the background's noise tells nothing of the shapes."""


@dataclass(frozen=True)
class SmallShape:
    """A shape that drifts inside its place."""

    colour: str
    shape: str
    start: tuple[float, float]
    end: tuple[float, float]
    """(x, y) from left and from the top, relative to the side of the picture."""

    @property
    def phrase(self) -> str:
        """Colour and form."""
        return f"{self.colour} {self.shape}"

    def at(self, share: float) -> tuple[float, float]:
        """(x, y) after a `share` of the film."""
        (x, y), (last_x, last_y) = self.start, self.end
        return (1 - share) * x + share * last_x, (1 - share) * y + share * last_y


@dataclass(frozen=True)
class Crowd:
    """The content of a film."""

    small: tuple[SmallShape, ...]
    captions: tuple[str, ...]
    seed: tuple[int, int, int]
    """Of the noise in the background."""


def crowd(seed: int, index: int) -> Crowd:
    """Film number `index` of `seed`."""
    draw = np.random.default_rng((_CONTENT, seed, index))
    shapes, places = draw.permutation(SHAPES).tolist(), draw.permutation(_PLACES**2)
    small = tuple(
        SmallShape(colour, shape, *(_point(int(where), draw) for _ in range(2)))
        for colour, shape, where in zip(CROWD_COLOURS, shapes, places, strict=False)
    )
    named = list(combinations(small, NUM_NAMED))
    told = [named[number] for number in draw.choice(len(named), NUM_CAPTIONS, replace=False)]
    return Crowd(small, tuple(_caption([one.phrase for one in each]) for each in told), (_NOISE, seed, index))


def crowd_frames(content: Crowd) -> Iterator[tuple[float, UInt8[np.ndarray, "size size 3"]]]:
    """(time in seconds, picture) of every frame."""
    ground = dark_ground(np.random.default_rng(content.seed))
    for number in range(NUM_FRAMES):
        pixels = ground.copy()
        for one in content.small:
            pixels[inside(one.shape, *one.at(number / (NUM_FRAMES - 1)), RADIUS)] = COLOURS[one.colour]
        yield number / FRAME_RATE, pixels


def _point(place: int, draw: np.random.Generator) -> tuple[float, float]:
    down, across = divmod(place, _PLACES)
    x, y = (float((number + 0.5) / _PLACES + draw.uniform(-_FROM_MIDDLE, _FROM_MIDDLE)) for number in (across, down))
    return x, y


def _caption(phrases: list[str]) -> str:
    return f"{', '.join(phrases[:-1])} and {phrases[-1]}"
