"""Streams of pictures and sound requested from a decoder, and their chunks of fixed size."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Shaped

from vtr_core.video.pictures import PictureKind
from vtr_core.video.sampling import Rate, Uniform


@dataclass(frozen=True)
class PictureStream:
    """Pictures at a rate, or a given number, in chunks of `chunk`: uint8 (pictures, height, width, 3), RGB."""

    picture: PictureKind
    rate: Rate | Uniform
    chunk: int = 32


@dataclass(frozen=True)
class SoundStream:
    """Sound mixed to one channel: float32 (samples,), full scale is 1.

    A chunk begins every `chunk` samples and ends with the first `overlap` samples of the next one.
    """

    sample_rate: int = 16_000
    chunk: int = 960_000
    overlap: int = 0


Stream = PictureStream | SoundStream


@dataclass(frozen=True)
class Chunk:
    """A part of a stream; all but the last have the stream's chunk size."""

    stream: int
    """The stream's position among the requested ones."""
    index: int
    """0, 1, … within the stream."""
    values: Shaped[np.ndarray, "..."]


@dataclass(frozen=True)
class End:
    """Durations and frame count of a completely decoded video or span."""

    duration: float
    """Seconds from its beginning to the end of its last frame or sound."""
    said: float
    """Duration that its container states, in seconds; 0 where it states none."""
    frames: int
    """Number of decoded frames."""
    has_sound: bool
