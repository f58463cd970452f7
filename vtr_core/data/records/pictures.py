"""Decoding of stored frames to pixels."""

import io
from collections.abc import Sequence

import numpy as np
from jaxtyping import UInt8
from PIL import Image

from vtr_core.data.records.schema import PIXEL_DTYPE, FrameSchema


class BadPicture(Exception):
    """A stored frame does not have the format of its data set; the message says what was found."""


def decoded(frames: Sequence[bytes], schema: FrameSchema) -> UInt8[np.ndarray, "frames height width 3"]:
    """The pixels of a clip's frames, RGB; BadPicture where there are none, or one does not conform to `schema`."""
    if not frames:
        raise BadPicture("the clip has no frame")
    shape = (schema.height, schema.width, 3)
    match schema.encoding:
        case "jpeg":
            return np.stack([_from_jpeg(content, shape) for content in frames])
        case "raw":
            return np.stack([_from_pixels(content, shape) for content in frames])


def _from_jpeg(content: bytes, shape: tuple[int, int, int]) -> UInt8[np.ndarray, "height width 3"]:
    try:
        with Image.open(io.BytesIO(content), formats=["JPEG"]) as image:
            if (image.height, image.width, 3) != shape:
                raise BadPicture(f"a frame has {image.height} × {image.width} pixels, not {shape[0]} × {shape[1]}")
            return np.asarray(image.convert("RGB"))
    except (OSError, ValueError, SyntaxError, Image.DecompressionBombError) as error:
        raise BadPicture(f"a frame is no JPEG that can be decoded ({error})") from error


def _from_pixels(content: bytes, shape: tuple[int, int, int]) -> UInt8[np.ndarray, "height width 3"]:
    if len(content) != shape[0] * shape[1] * shape[2]:
        raise BadPicture(f"a frame has {len(content)} bytes, not those of {shape[0]} × {shape[1]} pixels")
    return np.frombuffer(content, PIXEL_DTYPE).reshape(shape)
