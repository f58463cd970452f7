"""What is asked of a video, and what comes: streams of pictures and of sound, in chunks of fixed size."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Shaped

from vtr_core.video.pictures import Picture, WholePicture
from vtr_core.video.sampling import Rate, Uniform


@dataclass(frozen=True)
class PictureStream:
    """Pictures at a rate, or a number of them, `chunk` of them at a time: uint8 (pictures, height, width, 3), RGB."""

    picture: Picture | WholePicture
    rate: Rate | Uniform
    chunk: int = 32


@dataclass(frozen=True)
class SoundStream:
    """The sound of all channels as one: float32 (samples,), full scale is 1.

    A chunk begins every `chunk` samples and has the first `overlap` samples of the next one at its end.
    """

    sample_rate: int = 16_000
    chunk: int = 960_000
    overlap: int = 0


Stream = PictureStream | SoundStream


@dataclass(frozen=True)
class Chunk:
    """The next part of a stream; every part but the last has the stream's size."""

    stream: int
    """Its position among the streams asked for."""
    index: int
    """0, 1, … within the stream."""
    values: Shaped[np.ndarray, "..."]


@dataclass(frozen=True)
class End:
    """What is known of a video when all of it, or a span of it, was decoded."""

    duration: float
    """Seconds from its beginning to the end of its last frame or sound."""
    said: float
    """Seconds that its container says it lasts; 0 where it does not say."""
    frames: int
    """Pictures that were decoded."""
    has_sound: bool
