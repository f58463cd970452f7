"""Synthetic films with small shapes in their corners, which captions name, and a large one that no caption names.

Every film is a function of (seed, index, number of small shapes). The same colours and shapes occur in all corners, so
that the mean of a frame tells which of them are there, and hardly which one is in which corner.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations
from types import MappingProxyType

import numpy as np
from jaxtyping import UInt8

from vtr_core.data.worlds.shapes import COLOURS, SHAPES, Film, film, frames, inside

CORNERS = MappingProxyType(
    {"top left": (0.0, 0.0), "top right": (1.0, 0.0), "bottom left": (0.0, 1.0), "bottom right": (1.0, 1.0)}
)
"""Left to right and downwards, from 0 to 1."""
RADIUS = 0.07
"""Of a small shape, relative to the side of the picture; a large one's is 0.2 to 0.3."""
_FROM_EDGE, _SPREAD = 0.15, 0.04


@dataclass(frozen=True)
class SmallShape:
    """A shape that stands still in a corner."""

    colour: str
    shape: str
    corner: str
    x: float
    y: float

    @property
    def phrase(self) -> str:
        """Colour, shape and corner."""
        return f"{self.colour} {self.shape} {self.corner}"


@dataclass(frozen=True)
class CornerFilm:
    """A film of a large shape and small ones in different corners."""

    film: Film
    small: tuple[SmallShape, ...]

    @property
    def captions(self) -> tuple[str, ...]:
        """A caption for every two of the small shapes; that of the only one."""
        if len(self.small) == 1:
            return (self.small[0].phrase,)
        return tuple(f"{one.phrase} and {other.phrase}" for one, other in combinations(self.small, 2))


def corner_film(seed: int, index: int, num_small: int) -> CornerFilm:
    """Film number `index` of `seed` with `num_small` small shapes of different colours, none of them the large one's.

    num_small: from 1 to the number of corners.
    """
    large = film(seed, index)
    draw = np.random.default_rng((500, seed, index))
    colours = draw.permutation([name for name in COLOURS if name != large.colour])[:num_small].tolist()
    shapes = draw.choice(SHAPES, num_small).tolist()
    corners = draw.permutation(list(CORNERS))[:num_small].tolist()
    small = []
    for colour, shape, corner in zip(colours, shapes, corners, strict=True):
        x, y = (float(_FROM_EDGE + (1 - 2 * _FROM_EDGE) * end + draw.normal(0, _SPREAD)) for end in CORNERS[corner])
        small.append(SmallShape(colour, shape, corner, x, y))
    return CornerFilm(large, tuple(small))


def corner_frames(content: CornerFilm) -> Iterator[tuple[float, UInt8[np.ndarray, "size size 3"]]]:
    """(time in seconds, picture) of every frame, small shapes in front of the large one."""
    for time, picture in frames(content.film):
        pixels = picture.copy()
        for one in content.small:
            pixels[inside(one.shape, one.x, one.y, RADIUS)] = COLOURS[one.colour]
        yield time, pixels
