"""Streams of a video: their times, and frames encoded as JPEG."""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import chain
from typing import Literal

import av
import numpy as np
from av import AudioFrame, AudioStream, VideoFrame, VideoStream
from av.container import OutputContainer
from jaxtyping import Float32, Shaped, UInt8
from PIL import Image

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


Scaler = Literal[
    "swscale_bicubic",
    "pillow_nearest",
    "pillow_box",
    "pillow_bilinear",
    "pillow_hamming",
    "pillow_bicubic",
    "pillow_lanczos",
]


@dataclass(frozen=True)
class Picture:
    """Centre crop of `size` × `size` pixels from a frame whose short side is scaled to `short_side`.

    swscale_bicubic is FFmpeg's scaler; the others scale the decoded RGB frame by Pillow, as the processors of
    pretrained models do.
    """

    size: int
    short_side: int
    scaler: Scaler = "swscale_bicubic"

    def scaled(self, width: int, height: int) -> tuple[int, int]:
        """Width and height of the scaled frame; the long side is rounded down, and not shorter than the crop."""
        if width < height:
            return self.short_side, max(height * self.short_side // width, self.size)
        return max(width * self.short_side // height, self.size), self.short_side

    def offset(self, side: int) -> int:
        """Pixels before the crop on a side of the scaled frame."""
        return (side - self.size) // 2


class RoundedPicture(Picture):
    """A `Picture` whose crop begins at the nearest pixel, as torchvision's does, and of two at the even one."""

    def offset(self, side: int) -> int:
        """Pixels before the crop on a side of the scaled frame."""
        return round((side - self.size) / 2)


@dataclass(frozen=True)
class SquashedPicture:
    """The whole frame as a rectangle, whatever its aspect ratio: SigLIP's preprocessing."""

    height: int
    width: int
    scaler: Scaler

    def scaled(self, width: int, height: int) -> tuple[int, int]:  # noqa: ARG002  the same for all frames
        """Width and height of the scaled frame."""
        return self.width, self.height


@dataclass(frozen=True)
class PatchedPicture:
    """The whole frame, near its aspect ratio, in at most `most` square patches of `patch` pixels a side.

    The largest such size by bisection of the scale to 1e-5, as SigLIP 2's processor finds it (NaFlex: Tschannen et al.
    2025, section 2.4.2).
    """

    patch: int
    most: int
    scaler: Scaler

    def scaled(self, width: int, height: int) -> tuple[int, int]:
        """Width and height of the scaled frame, multiples of `patch`."""
        low, high = 1e-6, 100.0
        while high - low >= 1e-5:
            scale = (low + high) / 2
            if self._patches(width, scale) * self._patches(height, scale) <= self.most:
                low = scale
            else:
                high = scale
        return self._patches(width, low) * self.patch, self._patches(height, low) * self.patch

    def _patches(self, side: int, scale: float) -> int:
        return max(1, math.ceil(side * scale / self.patch))


@dataclass(frozen=True)
class FullPicture:
    """The whole frame as it was recorded, for a model whose own code scales it."""

    def scaled(self, width: int, height: int) -> tuple[int, int]:
        """Width and height of the frame."""
        return width, height


@dataclass(frozen=True)
class WholePicture:
    """The whole frame, for display, scaled to `long_side` pixels on its long side."""

    long_side: int

    def scaled(self, width: int, height: int) -> tuple[int, int]:
        """Width and height of the scaled frame, at least one pixel each."""
        longest = max(width, height)
        return max(1, round(width * self.long_side / longest)), max(1, round(height * self.long_side / longest))


PictureKind = Picture | SquashedPicture | PatchedPicture | FullPicture | WholePicture


def picture(frame: VideoFrame, kind: PictureKind) -> UInt8[np.ndarray, "height width 3"]:
    """The picture of a frame. The file's rotation is applied; higher bit depths are reduced to 8 bits."""
    size = kind.scaled(frame.width, frame.height)
    if isinstance(kind, WholePicture):
        scaled = frame.reformat(*size, format="rgb24", interpolation="AREA").to_ndarray()
    elif isinstance(kind, FullPicture):
        scaled = frame.to_ndarray(format="rgb24")
    elif kind.scaler == "swscale_bicubic":
        scaled = frame.reformat(*size, format="rgb24", interpolation="BICUBIC").to_ndarray()
    else:
        pillow_filter = Image.Resampling[kind.scaler.removeprefix("pillow_").upper()]
        scaled = np.asarray(frame.to_image().resize(size, pillow_filter))
    if isinstance(kind, Picture):
        top, left = (kind.offset(side) for side in scaled.shape[:2])
        scaled = scaled[top : top + kind.size, left : left + kind.size]
    return upright(scaled, frame.rotation)


def prepared(
    frames: UInt8[np.ndarray, "frames height width 3"], kind: PictureKind
) -> UInt8[np.ndarray, "frames shown_height shown_width 3"]:
    """The pictures of upright RGB frames of any size, as of decoded ones."""
    shown = [picture(VideoFrame.from_ndarray(np.ascontiguousarray(frame), format="rgb24"), kind) for frame in frames]
    return np.stack(shown) if shown else np.zeros((0, *frames.shape[1:]), np.uint8)


def upright(
    pixels: UInt8[np.ndarray, "height width 3"], degrees: int
) -> UInt8[np.ndarray, "shown_height shown_width 3"]:
    """`pixels` turned counter-clockwise by `degrees`, to the nearest quarter, as a player shows them."""
    return np.ascontiguousarray(np.rot90(pixels, round(degrees / 90)))


@dataclass(frozen=True)
class Rate:
    """`per_second` frames a second: sample k is the frame shown at (k + ½) / per_second, the middle of its interval.

    There is a sample for every such time before the video's end, and at least one.
    """

    per_second: float

    def time(self, index: int) -> float:
        """The time of a sample in seconds from the beginning."""
        return (index + 0.5) / self.per_second


@dataclass(frozen=True)
class Uniform:
    """`count` frames of a video: those shown in the middle of its `count` equal parts."""

    count: int


class Sampler:
    """Counts, frame by frame in order of time, the samples that fall on each frame.

    A frame is shown until the next one; the first one also before its time, the last one for its own duration.
    """

    def __init__(self, sampling: Rate | Uniform, duration: float) -> None:
        """duration: the video's in seconds, for Uniform alone; of a shorter one the last frame is repeated."""
        self._exactly = sampling.count if isinstance(sampling, Uniform) else None
        self._rate = Rate(sampling.count / duration) if isinstance(sampling, Uniform) else sampling
        self._taken = 0

    def shown_until(self, end: float) -> int:
        """The number of samples on the frame that is shown until `end`, in seconds from the beginning."""
        before = self._taken
        while self._rate.time(self._taken) < end and self._taken != self._exactly:
            self._taken += 1
        return self._taken - before

    def last_shown_until(self, end: float) -> int:
        """As `shown_until` for the last frame, which is the one sample of a video shorter than half an interval."""
        before = self._taken
        self.shown_until(end)
        self._taken = self._exactly or max(self._taken, 1)
        return self._taken - before


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
    """Duration and frame count of a completely decoded video."""

    duration: float
    """Seconds from its beginning to the end of its last frame or sound."""
    frames: int
    """Number of decoded frames."""
    has_sound: bool
    remark: str = ""
    """What a person may have to know of its times: that they begin again, or that pictures and sound end apart."""
