"""Films of six small shapes, in which only the pairs of colour and form differ; captions name three of them."""

import csv
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path

import numpy as np
from jaxtyping import UInt8

from vtr_core.data.worlds.films import COLOURS, FRAME_RATE, NUM_FRAMES, SHAPES, dark_ground, film, inside, sound
from vtr_core.video.streams import Codec, write_video

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
    triples = list(combinations(small, NUM_NAMED))
    chosen = [triples[number] for number in draw.choice(len(triples), NUM_CAPTIONS, replace=False)]
    return Crowd(small, tuple(_caption([shape.phrase for shape in each]) for each in chosen), (_NOISE, seed, index))


def crowd_frames(content: Crowd) -> Iterator[tuple[float, UInt8[np.ndarray, "size size 3"]]]:
    """(time in seconds, picture) of every frame."""
    ground = dark_ground(np.random.default_rng(content.seed))
    for number in range(NUM_FRAMES):
        pixels = ground.copy()
        for shape in content.small:
            pixels[inside(shape.shape, *shape.at(number / (NUM_FRAMES - 1)), RADIUS)] = COLOURS[shape.colour]
        yield number / FRAME_RATE, pixels


def _point(place: int, draw: np.random.Generator) -> tuple[float, float]:
    down, across = divmod(place, _PLACES)
    x, y = (float((number + 0.5) / _PLACES + draw.uniform(-_FROM_MIDDLE, _FROM_MIDDLE)) for number in (across, down))
    return x, y


def _caption(phrases: list[str]) -> str:
    return f"{', '.join(phrases[:-1])} and {phrases[-1]}"


def render_crowds(folder: Path, num_films: int, seed: int) -> Path:
    """Write missing films, film0000.mp4 and so on, then the table of captions, whose path is returned."""
    folder.mkdir(parents=True, exist_ok=True)
    rows = []
    for index in range(num_films):
        content, name = crowd(seed, index), f"film{index:04d}"
        if not (folder / f"{name}.mp4").exists():
            codec = Codec(sound="libmp3lame")
            write_video(
                str(folder / f".{name}.mp4"), crowd_frames(content), sound(film(seed, index)), codec, FRAME_RATE
            )
            (folder / f".{name}.mp4").rename(folder / f"{name}.mp4")
        rows += [(f"{name}-{place}", caption, f"{name}.mp4") for place, caption in enumerate(content.captions)]
    with (folder / "captions.csv").open("w", newline="") as file:
        csv.writer(file).writerows([("id", "caption", "video"), *rows])
    return folder / "captions.csv"
