"""Encoding of small videos from frames with times, and sound."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import chain

import av
import numpy as np
from av import AudioFrame, AudioStream, VideoFrame, VideoStream
from av.container import OutputContainer
from jaxtyping import Float32, UInt8

_TICKS = 90_000
"""Ticks per second of frame times."""
_SOUND_BLOCK = 1024


@dataclass(frozen=True)
class Codec:
    """Encoding settings of pictures and sound."""

    pictures: str = "libx264"
    pixels: str = "yuv420p"
    sound: str = "aac"
    sample_rate: int = 16_000
    options: Mapping[str, str] = field(default_factory=lambda: {"preset": "veryfast"})
    """Options of the picture encoder, where it is libx264."""


def write_video(
    path: str,
    frames: Iterable[tuple[float, UInt8[np.ndarray, "height width 3"]]],
    sound: Float32[np.ndarray, " samples"] | None = None,
    codec: Codec | None = None,
    frame_rate: int = 25,
) -> None:
    """Write (time in seconds, RGB) frames, in order, and mono sound at the codec's sample rate to a file at `path`.

    The path's suffix determines the container. Requires at least one frame; all have the same, even width and height.
    """
    codec = codec or Codec()
    with av.open(path, "w") as container:
        pictures = container.add_stream(codec.pictures, rate=frame_rate)
        assert isinstance(pictures, VideoStream)
        pictures.pix_fmt = codec.pixels
        if codec.pictures == "libx264":
            pictures.options = dict(codec.options)
        pictures.codec_context.time_base = Fraction(1, _TICKS if codec.pictures == "libx264" else frame_rate)
        heard = None if sound is None else container.add_stream(codec.sound, rate=codec.sample_rate, layout="mono")
        ordered = iter(frames)
        first = next(ordered)
        pictures.height, pictures.width = first[1].shape[:2]
        for time, pixels in chain([first], ordered):
            frame = VideoFrame.from_ndarray(pixels, format="rgb24")
            frame.time_base = pictures.codec_context.time_base
            frame.pts = round(time / frame.time_base)
            container.mux(pictures.encode(frame))
        container.mux(pictures.encode(None))
        if sound is not None:
            assert isinstance(heard, AudioStream)
            _write_sound(container, heard, sound)


def _write_sound(container: OutputContainer, stream: AudioStream, samples: Float32[np.ndarray, " samples"]) -> None:
    rate = stream.codec_context.sample_rate
    for first in range(0, len(samples), _SOUND_BLOCK):
        block = np.ascontiguousarray(samples[None, first : first + _SOUND_BLOCK])
        frame = AudioFrame.from_ndarray(block, format="fltp", layout="mono")
        frame.sample_rate, frame.pts, frame.time_base = rate, first, Fraction(1, rate)
        container.mux(stream.encode(frame))
    container.mux(stream.encode(None))
