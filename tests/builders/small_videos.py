"""Small video files: frames whose grey tells their number, and a tone."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from vtr_core.video.encoding import Codec, write_video

GREY_STEP = 8
RATE = 16_000


def grey_video(
    path: Path,
    times: Sequence[float],
    size: tuple[int, int] = (64, 48),
    sound_s: float = 0.0,
    codec: Codec | None = None,
    frame_rate: int = 25,
) -> Path:
    """Frame k is all of the grey 16 + 8 k; the sound is a tone of 440 Hz."""
    width, height = size
    frames = [(t, np.full((height, width, 3), 16 + GREY_STEP * k, np.uint8)) for k, t in enumerate(times)]
    write_video(str(path), frames, tone(sound_s) if sound_s else None, codec, frame_rate)
    return path


def tone(seconds: float, hertz: float = 440.0) -> np.ndarray:
    """A tone of half of full scale at 16 kHz."""
    return (0.5 * np.sin(2 * np.pi * hertz * np.arange(round(seconds * RATE)) / RATE)).astype(np.float32)


def number(picture: np.ndarray) -> int:
    """Which frame of a grey video a picture is of."""
    return round((float(picture.mean()) - 16) / GREY_STEP)
