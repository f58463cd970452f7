"""Pictures from frames: upright, scaled, whole or centre-cropped, uint8 RGB."""

from dataclasses import dataclass
from typing import Literal

import numpy as np
from av import VideoFrame
from jaxtyping import UInt8
from PIL import Image

Scaler = Literal["swscale_bicubic", "pillow_bicubic"]


@dataclass(frozen=True)
class Picture:
    """Centre crop of `size` × `size` pixels from a frame whose short side is scaled to `short_side`.

    swscale_bicubic is FFmpeg's scaler; pillow_bicubic scales the decoded RGB frame, as CLIP's own preprocessing does.
    """

    size: int
    short_side: int
    scaler: Scaler = "swscale_bicubic"

    def scaled(self, width: int, height: int) -> tuple[int, int]:
        """Width and height of the scaled frame; the long side is rounded down, and not shorter than the crop."""
        if width < height:
            return self.short_side, max(height * self.short_side // width, self.size)
        return max(width * self.short_side // height, self.size), self.short_side


@dataclass(frozen=True)
class WholePicture:
    """The whole frame, for display, scaled to `long_side` pixels on its long side."""

    long_side: int

    def scaled(self, width: int, height: int) -> tuple[int, int]:
        """Width and height of the scaled frame, at least one pixel each."""
        longest = max(width, height)
        return max(1, round(width * self.long_side / longest)), max(1, round(height * self.long_side / longest))


def picture(frame: VideoFrame, what: Picture | WholePicture) -> UInt8[np.ndarray, "height width 3"]:
    """The picture `what` of a frame. The file's rotation is applied; higher bit depths are reduced to 8 bits."""
    if isinstance(what, WholePicture):
        size = what.scaled(frame.width, frame.height)
        return upright(frame.reformat(*size, format="rgb24", interpolation="AREA").to_ndarray(), frame.rotation)
    size = what.scaled(frame.width, frame.height)
    match what.scaler:
        case "swscale_bicubic":
            scaled = frame.reformat(*size, format="rgb24", interpolation="BICUBIC").to_ndarray()
        case "pillow_bicubic":
            scaled = np.asarray(frame.to_image().resize(size, Image.Resampling.BICUBIC))
    left, top = (size[0] - what.size) // 2, (size[1] - what.size) // 2
    return upright(scaled[top : top + what.size, left : left + what.size], frame.rotation)


def upright(
    pixels: UInt8[np.ndarray, "height width 3"], degrees: int
) -> UInt8[np.ndarray, "shown_height shown_width 3"]:
    """`pixels` turned counter-clockwise by `degrees`, to the nearest quarter, as a player shows them."""
    return np.ascontiguousarray(np.rot90(pixels, round(degrees / 90)))
