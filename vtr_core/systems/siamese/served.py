"""Images as lists of numbers in a table, encoded by a registered Siamese network."""

from typing import Any

import numpy as np
import pandas as pd
import torch
from jaxtyping import UInt8
from torch import Tensor

from vtr_core.errors import InputError
from vtr_core.systems.loaded_model import TrainedModel
from vtr_core.systems.siamese.config import ImageShape
from vtr_core.systems.siamese.model import Siamese
from vtr_core.systems.siamese.verification import encode_pixels


def predict(loaded: TrainedModel, table: pd.DataFrame) -> pd.DataFrame:
    """In: `pixels`, the values of an image row by row from 0 to 255; out: `encoding`."""
    assert isinstance(loaded.model, Siamese)
    pixels = pixels_of(table, loaded.model.config.image)
    vectors = encode_pixels(loaded.model, pixels, loaded.config.evaluation.batch_rows)
    return pd.DataFrame({"encoding": list(vectors)}, index=table.index, dtype=object)


def pixels_of(table: pd.DataFrame, image: ImageShape) -> UInt8[Tensor, "rows channels height width"]:
    """The images of the column `pixels`: integers from 0 to 255, row by row, channels last."""
    if "pixels" not in table.columns:
        raise InputError(f"the table has the columns {', '.join(map(str, table.columns))}; the model takes pixels")
    rows = [_image(value, row, image) for row, value in enumerate(table["pixels"])]
    stacked = np.stack(rows) if rows else np.zeros((0, image.height, image.width, image.channels), np.uint8)
    return torch.from_numpy(stacked).permute(0, 3, 1, 2).contiguous()


def _image(value: Any, row: int, image: ImageShape) -> UInt8[np.ndarray, "height width channels"]:
    shape = (image.height, image.width, image.channels)
    try:
        values = np.asarray(value, np.float64).reshape(shape)
    except (TypeError, ValueError) as error:
        raise InputError(
            f"pixels of row {row} are no image of {image.height} × {image.width} × {image.channels} ({error})"
        ) from error
    if not ((values >= 0) & (values <= 255) & (values == np.rint(values))).all():
        raise InputError(f"pixels of row {row} are not whole numbers from 0 to 255")
    return values.astype(np.uint8)
