"""Images in tables, as MLflow's clients send them."""

import pandas as pd
import pytest

from vtr_core.errors import InputError
from vtr_core.systems.siamese.config import ImageShape
from vtr_core.systems.siamese.task import pixels_of

SHAPE = ImageShape(height=2, width=3, channels=1)


def test_rows_of_values():
    found = pixels_of(pd.DataFrame({"pixels": [[0, 1, 2, 3, 4, 255], range(6)]}), SHAPE)
    assert found.shape == (2, 1, 2, 3)
    assert found[0, 0].tolist() == [[0, 1, 2], [3, 4, 255]]
    assert pixels_of(pd.DataFrame({"pixels": []}), SHAPE).shape == (0, 1, 2, 3)


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ({"caption": ["x"]}, "has the columns caption; the model takes pixels"),
        ({"pixels": [[1, 2]]}, "pixels of row 0 are no image of 2 × 3 × 1"),
        ({"pixels": ["x"]}, "pixels of row 0 are no image"),
        ({"pixels": [[0, 0, 0, 0, 0, 256]]}, "are not whole numbers from 0 to 255"),
        ({"pixels": [[0, 0, 0, 0, 0, 0.5]]}, "are not whole numbers from 0 to 255"),
    ],
)
def test_faults(table: dict[str, list[object]], message: str):
    with pytest.raises(InputError, match=message):
        pixels_of(pd.DataFrame(table), SHAPE)
