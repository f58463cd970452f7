"""An image file as the model's shape wants it."""

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from tests.builders.made_faces import face
from vtr_core.data.sources.faces import read_image, read_sized
from vtr_core.errors import InputError
from vtr_core.storage import locate


def test_sizes_and_colours(tmp_path: Path):
    Image.fromarray(face(1, 1)).save(tmp_path / "a.pgm")
    place = locate(str(tmp_path / "a.pgm"))
    np.testing.assert_array_equal(read_image(place)[:, :, 0], face(1, 1))
    assert read_image(place, size=20).shape == (20, 20, 1)
    assert read_sized(place, (48, 40, 3)).shape == (48, 40, 3)
    with pytest.raises(InputError, match=r"a\.pgm is 48 × 40, the model was trained on 30 × 20; .*--resize"):
        read_sized(place, (30, 20, 1))
    assert read_sized(place, (30, 20, 1), resize=True).shape == (30, 20, 1)


def test_formats_that_are_not_allowed(tmp_path: Path):
    Image.fromarray(face(1, 1)).save(tmp_path / "a.gif")
    (tmp_path / "a.gif").rename(tmp_path / "a.png")
    with pytest.raises(InputError, match=r"a\.png is not a readable image"):
        read_image(locate(str(tmp_path / "a.png")))
