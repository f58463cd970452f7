"""An image file as an array: PGM, PNG or JPEG, grey or in colour, 8 bits deep."""

import io
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import UInt8

from vtr_core.data.sources.files.files import read_file
from vtr_core.data.sources.reasons import UnusableError
from vtr_core.errors import InputError
from vtr_core.storage import Location

if TYPE_CHECKING:
    from PIL.Image import Image

SUFFIXES = (".pgm", ".ppm", ".png", ".jpg", ".jpeg")
_FORMATS = ("PPM", "PNG", "JPEG")
_MODES = {"L": 1, "RGB": 3}


def read_image(place: Location, size: int | None = None, grey: bool = True) -> UInt8[np.ndarray, "_ _ _"]:
    """(height, width, channels) of the file at `place`; with `size` brought to size × size, with `grey` to one channel.

    Grey is 0.299 R + 0.587 G + 0.114 B (ITU-R BT.601). Raises InputError, naming the file, where it cannot be read or
    is neither grey nor RGB of 8 bits.
    """
    from PIL import Image

    image = _opened(place)
    if image.mode not in _MODES:
        raise InputError(
            f"{place} has pixels of mode {image.mode!r}; images must be 8-bit grey or RGB: convert it, for instance "
            "with Pillow's convert('L')"
        )
    if grey:
        image = image.convert("L")
    if size is not None:
        image = image.resize((size, size), Image.Resampling.BILINEAR)
    array = np.asarray(image, np.uint8)
    return array.reshape(*array.shape[:2], -1)


def read_sized(place: Location, shape: tuple[int, int, int], resize: bool = False) -> UInt8[np.ndarray, "_ _ _"]:
    """The file as an image of `shape` (height, width, channels); InputError for one of another size, unless `resize`.

    An RGB image becomes grey where `channels` is 1; a grey one has three equal channels where it is 3.
    """
    from PIL import Image

    height, width, channels = shape
    array = read_image(place, grey=channels == 1)
    if array.shape[:2] != (height, width):
        if not resize:
            raise InputError(
                f"{place} is {array.shape[0]} × {array.shape[1]}, the model was trained on {height} × {width}; crop it "
                "alike, or use --resize"
            )
        image = Image.fromarray(array[:, :, 0] if array.shape[2] == 1 else array)
        resized = np.asarray(image.resize((width, height), Image.Resampling.BILINEAR), np.uint8)
        array = resized.reshape(height, width, -1)
    return np.repeat(array, channels, axis=2) if array.shape[2] < channels else array


def _opened(place: Location) -> "Image":
    from PIL import Image

    try:
        image = Image.open(io.BytesIO(read_file(place)), formats=_FORMATS)
        image.load()
    except UnusableError as error:
        raise InputError(f"{error}; restore it, or remove it from its folder") from error
    except Exception as error:  # whatever the decoders meet in a damaged file
        raise InputError(
            f"{place} is not a readable image ({error}); it must be PGM, PNG or JPEG: replace or remove it"
        ) from error
    return image
