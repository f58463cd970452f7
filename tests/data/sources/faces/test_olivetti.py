"""scikit-learn's loaders, with the download replaced by made data; and without a network."""

from pathlib import Path
from types import SimpleNamespace
from urllib.error import URLError

import numpy as np
import pytest
from sklearn import datasets

from tests.builders.made_faces import ingested, names
from vtr_core.data.manifest import Manifest
from vtr_core.data.plan import row_groups
from vtr_core.data.reading.evaluated_rows import read_images, subjects_of
from vtr_core.data.sources.faces import Olivetti
from vtr_core.data.sources.lfw import Lfw
from vtr_core.data.sources.source import Drops
from vtr_core.errors import InputError


@pytest.fixture
def downloaded(monkeypatch: pytest.MonkeyPatch) -> np.ndarray:
    images = (np.arange(14 * 64 * 64) % 256).reshape(14, 64, 64) / 255
    found = SimpleNamespace(images=images.astype(np.float32), target=np.repeat(np.arange(7), 2))
    monkeypatch.setattr(datasets, "fetch_olivetti_faces", lambda data_home: found)
    return images


def test_olivetti(downloaded: np.ndarray, tmp_path: Path):
    places = ingested(Olivetti(test=names(6, 7)), tmp_path / "out")
    manifest = Manifest.load(places["test"])
    assert subjects_of(manifest) == ("s6", "s7")
    rows = read_images(manifest, row_groups(manifest))
    at = rows.image_id.index("s7/2")
    np.testing.assert_array_equal(rows.pixels[at, 0].numpy(), np.rint(255 * downloaded[13]).astype(np.uint8))


def test_without_a_network(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    def away(**settings: object) -> None:
        raise URLError("no route")

    monkeypatch.setattr(datasets, "fetch_olivetti_faces", away)
    monkeypatch.setattr(datasets, "fetch_lfw_people", away)
    for source in (Olivetti(), Lfw(pairs_file="pairs.txt", cache=str(tmp_path))):
        with pytest.raises(InputError, match=r"cannot be downloaded .*no route.*vtr ingest faces"):
            source.videos(Drops())
