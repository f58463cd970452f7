"""Frames of a video as image files in a folder: order, sampling, and decoding."""

import io
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Float32

from vtr_core import storage
from vtr_core.data.sources.files.files import read_file
from vtr_core.data.sources.reasons import Reason, UnusableError
from vtr_core.storage import Location

if TYPE_CHECKING:
    from PIL import Image

_SUFFIXES = (".jpg", ".jpeg", ".png")
_DIGITS = re.compile(r"(\d+)", re.ASCII)
_MOST_PIXELS = 2**26
"""Maximum size of an image: a few compressed bytes can expand to any number of pixels."""


def image_names(folder: Location) -> list[str]:
    """The JPEG and PNG files of a folder, numbers in their names counted as numbers: frame2 comes before frame10."""
    names = (file.name for file in storage.children(folder))
    return sorted((name for name in names if name.lower().endswith(_SUFFIXES)), key=_in_order)


def sample(names: Sequence[str], num_frames: int) -> list[str]:
    """`num_frames` of `names` from the first to the last in equal steps, rounded down; all where there are no more.

    Source: the uniform sampling of CLIP4Clip (Luo et al. 2021, section 3.1).
    """
    if len(names) <= num_frames:
        return list(names)
    return [names[place] for place in np.linspace(0, len(names) - 1, num_frames).astype(int)]


def read_images(folder: Location, names: Sequence[str], size: int) -> Float32[np.ndarray, "frames 3 size size"]:
    """Red, green and blue from 0 to 1 of the middle square of every image, its shorter side brought to `size` pixels.

    Bicubic, as CLIP's own preprocessing. Raises UnusableError, naming the file, for one that cannot be read.
    """
    return np.stack([_pixels(read_file(folder / name), size, str(folder / name)) for name in names])


def _pixels(content: bytes, size: int, where: str) -> Float32[np.ndarray, "3 size size"]:
    from PIL import Image

    try:
        with Image.open(io.BytesIO(content), formats=("JPEG", "PNG")) as image:
            if image.width * image.height > _MOST_PIXELS:
                raise ValueError(f"it has {image.width} × {image.height} pixels, more than {_MOST_PIXELS}")
            square = _middle_square(image.convert("RGB"), size)
    except (OSError, ValueError, SyntaxError, EOFError, Image.DecompressionBombError) as error:
        raise UnusableError(Reason.UNREADABLE_FILE, f"{where} is no JPEG or PNG that can be read ({error})") from error
    return np.asarray(square, np.float32).transpose(2, 0, 1) / 255


def _middle_square(image: "Image.Image", size: int) -> "Image.Image":
    from PIL import Image

    shorter = min(image.size)
    width, height = (int(size * side / shorter) for side in image.size)
    left, top = round((width - size) / 2), round((height - size) / 2)
    return image.resize((width, height), Image.Resampling.BICUBIC).crop((left, top, left + size, top + size))


def _in_order(name: str) -> list[tuple[int, str]]:
    """Sort key for natural order, with numbers compared as numbers."""
    parts = _DIGITS.split(name)
    return [(int(part), part) if place % 2 else (0, part) for place, part in enumerate(parts)]
