"""Pictures from frames: upright, scaled, whole or centre-cropped, uint8 RGB."""

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np
from av import VideoFrame
from jaxtyping import UInt8
from PIL import Image

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
        scaled = by_pillow(frame.to_image(), size, kind.scaler)
    return upright(cropped(scaled, kind), frame.rotation)


def by_pillow(frame: Image.Image, size: tuple[int, int], scaler: Scaler) -> UInt8[np.ndarray, "height width 3"]:
    """A frame scaled to (width, height) by Pillow's filter of the scaler's name."""
    return np.asarray(frame.resize(size, Image.Resampling[scaler.removeprefix("pillow_").upper()]))


def cropped(pixels: UInt8[np.ndarray, "height width 3"], kind: PictureKind) -> UInt8[np.ndarray, "kept_h kept_w 3"]:
    """The middle of a scaled frame for a `Picture`; all of it for other kinds."""
    if not isinstance(kind, Picture):
        return pixels
    top, left = (kind.offset(side) for side in pixels.shape[:2])
    return pixels[top : top + kind.size, left : left + kind.size]


def prepared(
    frames: UInt8[np.ndarray, "frames height width 3"], kind: PictureKind
) -> UInt8[np.ndarray, "frames shown_height shown_width 3"]:
    """The pictures of upright RGB frames of any size, as of decoded ones."""
    made = [picture(VideoFrame.from_ndarray(np.ascontiguousarray(frame), format="rgb24"), kind) for frame in frames]
    return np.stack(made) if made else np.zeros((0, *frames.shape[1:]), np.uint8)


def upright(
    pixels: UInt8[np.ndarray, "height width 3"], degrees: int
) -> UInt8[np.ndarray, "shown_height shown_width 3"]:
    """`pixels` turned counter-clockwise by `degrees`, to the nearest quarter, as a player shows them."""
    return np.ascontiguousarray(np.rot90(pixels, round(degrees / 90)))
