"""Rows of tables with pixels, encoded by a registered Siamese network."""

import pandas as pd

from vtr_core.systems.loaded_model import TrainedModel
from vtr_core.systems.siamese.frame_pixels import pixels_of
from vtr_core.systems.siamese.model import Siamese
from vtr_core.systems.siamese.verification import encode_pixels


def predict(loaded: TrainedModel, table: pd.DataFrame) -> pd.DataFrame:
    """In: `pixels`, the values of an image row by row from 0 to 255; out: `encoding`."""
    assert isinstance(loaded.model, Siamese)
    pixels = pixels_of(table, loaded.model.config.image)
    vectors = encode_pixels(loaded.model, pixels, loaded.config.evaluation.batch_rows)
    return pd.DataFrame({"encoding": list(vectors)}, index=table.index, dtype=object)
