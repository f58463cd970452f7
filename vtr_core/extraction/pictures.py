"""Stored pictures of videos, thumbnails and training frames; extraction treats them like a recipe's features."""

import io
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
from jaxtyping import Float, Shaped, UInt8
from PIL import Image

from vtr_core.backbones.recipe import Extractor, Recipe
from vtr_core.data.records.schema import FrameEncoding
from vtr_core.errors import ConfigError
from vtr_core.extraction.chosen import Chosen
from vtr_core.video.decoders import Decoder
from vtr_core.video.pictures import Picture, WholePicture
from vtr_core.video.sampling import Rate
from vtr_core.video.streams import PictureStream

THUMBNAILS_PER_SECOND = 2.0
"""Rate of candidate pictures; a span's thumbnail is the one nearest to its middle."""
THUMBNAIL_QUALITY = 80
LARGEST_SIDE = 4096


@dataclass(frozen=True)
class FrameSettings:
    """Settings of a clip's stored frames: square centre crops at a rate."""

    size: int = 224
    per_second: float = 1.0
    most: int | None = None
    """Greatest number of frames of a clip, in equal steps from the first to the last; None keeps all."""
    encoding: FrameEncoding = "jpeg"
    quality: int = 90
    decoder: Decoder = "pyav"

    def __post_init__(self) -> None:
        check_side("--frame-size", self.size)
        if not 0 < self.per_second <= 1000:
            raise ConfigError(f"--frame-rate is {self.per_second:g}; it must be above 0, and 1000 a second at most")
        if self.most is not None and self.most < 1:
            raise ConfigError(f"--frames is {self.most}; it must be 1 or more")
        if not 1 <= self.quality <= 100:
            raise ConfigError(f"--frame-quality is {self.quality}; it must be from 1 to 100")

    @property
    def chosen(self) -> Chosen:
        """The recipe that decodes and encodes these frames."""
        stream = PictureStream(Picture(self.size, self.size), Rate(self.per_second))
        keep = encoder(self.quality) if self.encoding == "jpeg" else _pixels
        return _kept("frames", stream, self.per_second, keep, self.decoder)


def thumbnails(long_side: int) -> Chosen:
    """The recipe of thumbnails, small whole frames as JPEGs; ConfigError for an invalid size."""
    check_side("--thumbnail-size", long_side)
    stream = PictureStream(WholePicture(long_side), Rate(THUMBNAILS_PER_SECOND))
    return _kept("thumbnails", stream, THUMBNAILS_PER_SECOND, encoder(THUMBNAIL_QUALITY))


def times(count: int, per_second: float) -> Float[np.ndarray, " rows"]:
    """Times of pictures sampled at a rate, in seconds: the middle of each interval."""
    return (np.arange(count) + 0.5) / per_second


def check_side(flag: str, pixels: int) -> None:
    """ConfigError for pictures too small or too large."""
    if not 8 <= pixels <= LARGEST_SIDE:
        raise ConfigError(f"{flag} is {pixels}; it must be from 8 to {LARGEST_SIDE} pixels")


def encoder(quality: int) -> Callable[[UInt8[np.ndarray, "rows height width 3"]], Shaped[np.ndarray, " rows"]]:
    """The function that encodes pictures as JPEGs, an object array of bytes."""
    return partial(_jpegs, quality)


def _jpegs(quality: int, pictures: UInt8[np.ndarray, "rows height width 3"]) -> Shaped[np.ndarray, " rows"]:
    found = np.empty(len(pictures), object)
    for place, pixels in enumerate(pictures):
        content = io.BytesIO()
        Image.fromarray(pixels).save(content, "JPEG", quality=quality)
        found[place] = content.getvalue()
    return found


def _pixels(pictures: UInt8[np.ndarray, "rows height width 3"]) -> Shaped[np.ndarray, " rows"]:
    found = np.empty(len(pictures), object)
    found[:] = [pixels.tobytes() for pixels in pictures]
    return found


def _kept(
    name: str,
    stream: PictureStream,
    per_second: float,
    keep: Callable[..., np.ndarray],
    decoder: Decoder = "pyav",
) -> Chosen:
    recipe = Recipe(
        name=name,
        modality="video",
        network="none",
        follows="",
        stream=stream,
        dim=0,
        rows_per_second=per_second,
        weights=None,
        load=partial(_load, keep),
    )
    return Chosen(recipe, None, None, decoder)


def _load(keep: Callable[..., np.ndarray], _weights: str | None, _device: str) -> Extractor:
    return keep
