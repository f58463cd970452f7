"""What the figures of models side by side are drawn from, against slow code, and that all of it is in the picture."""

import json
import re
from pathlib import Path

import numpy as np
import pytest

from pipelines.systems.siamese.siamese_figures import DrawnModel, draw, drawn_model, plane
from tests.builders.made_faces import ingested, made_faces, names
from tests.pipelines.verify.test_command import saved
from vtr_core.data.manifest import Manifest
from vtr_core.data.records.arrays import load_pairs
from vtr_core.data.sources.faces import Faces


@pytest.fixture
def model(tmp_path: Path) -> tuple[DrawnModel, Manifest]:
    raw = made_faces(tmp_path / "faces", subjects=6)
    data = ingested(Faces(root=str(raw), validation=names(3, 4), test=names(5, 6)), tmp_path / "data")
    saved(tmp_path / "run", data)
    points = [
        {"step": 10, "train/loss_pairs": 0.5},
        {"step": 10, "val/auc": 0.9},
        {"step": 20, "train/loss_pairs": 0.25},
    ]
    (tmp_path / "run" / "metrics.jsonl").write_text("".join(f"{json.dumps(point)}\n" for point in points))
    return drawn_model("SCN", str(tmp_path / "run"), data["test"]), Manifest.load(data["test"])


def test_losses_and_all_distances_of_the_pairs(model: tuple[DrawnModel, Manifest]) -> None:
    found, manifest = model
    assert found.losses == [(10, 0.5), (20, 0.25)]
    assert set(found.subjects) == {"s5", "s6"}
    at = {f"{subject}/{1 + index % 4}": index for index, subject in enumerate(found.subjects)}
    pairs = load_pairs(manifest.source, manifest.location).pairs
    for index, pair in enumerate(pairs):
        a, b = found.vectors[at[pair.first]], found.vectors[at[pair.second]]
        assert found.different[index] == pair.different
        assert found.distances["euclidean"][index] == pytest.approx(sum(float(x) ** 2 for x in a - b), abs=1e-5)
        cosine = float(a @ b) / (float(a @ a) ** 0.5 * float(b @ b) ** 0.5)
        assert found.distances["cosine"][index] == pytest.approx(1 - cosine, abs=1e-5)


def test_the_plane_has_the_two_largest_variances() -> None:
    vectors = np.random.default_rng(0).normal(size=(30, 5)).astype(np.float32) * np.array([1, 5, 1, 3, 0.5], np.float32)
    largest = np.sort(np.linalg.eigvalsh(np.cov(vectors.T)))[::-1][:2]
    np.testing.assert_allclose(plane(vectors).var(axis=0, ddof=1), largest, rtol=1e-4)


def test_the_picture_has_every_model_and_distance(model: tuple[DrawnModel, Manifest]) -> None:
    found, _ = model
    other = DrawnModel(**{**vars(found), "title": "LeNet", "losses": [], "trained_with": "cosine"})
    texts = re.findall(r"<!-- (.*?) -->", draw([found, other]).decode())
    for distance in ("squared Euclidean distance d²", "1 − exp(−d²) of Manhattan distance d", "cosine distance"):
        assert texts.count(distance) == 2
    assert sum(text.endswith("trained with it") for text in texts) == 2
    assert {text.partition(":")[0] for text in texts} >= {"SCN", "LeNet"}
