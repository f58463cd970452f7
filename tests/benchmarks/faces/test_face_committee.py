"""Distances against a cohort take away what makes a face near to everybody; several models' distances are averaged."""

from pathlib import Path

import numpy as np
import pytest

from benchmarks.faces import face_committee
from benchmarks.faces.face_committee import Encoded, Flags, Model, judged, markdown, measure
from tests.builders.made_faces import made_faces
from vtr_core.data.records.annotations import FacePair, PairList
from vtr_core.metrics.verification import equal_error_threshold, verification_metrics

IMAGES = ("a1", "a2", "b1", "b2")
PAIRS = PairList(
    (
        FacePair("a1", "a2", different=False),
        FacePair("b1", "b2", different=False),
        FacePair("a1", "b1", different=True),
        FacePair("a2", "b2", different=True),
    ),
    "0",
)


def encoded(seed: int) -> Encoded:
    vectors = np.random.default_rng(seed).normal(size=(4, 6))
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    return Encoded(vectors, {name: row for row, name in enumerate(IMAGES)}, PAIRS)


def test_a_distance_in_deviations_of_both_faces_distances_to_the_cohort():
    one, cohort = encoded(0), encoded(1).vectors
    plain, normalised = one.distances(), one.distances(cohort)
    for number, (first, second) in enumerate([(0, 1), (2, 3), (0, 2), (1, 3)]):
        assert plain[number] == pytest.approx(sum((one.vectors[first] - one.vectors[second]) ** 2))
        wanted = []
        for side in (first, second):
            others = [sum((one.vectors[side] - face) ** 2) for face in cohort]
            wanted.append((plain[number] - np.mean(others)) / np.std(others))
        assert normalised[number] == pytest.approx(np.mean(wanted))


def test_several_models_are_judged_by_their_mean_distance():
    models = [Model(encoded(i).vectors, encoded(i + 10), encoded(i + 20)) for i in range(2)]
    found = judged(models, normalised=False)
    validation, test = (
        (getattr(models[0], part).distances() + getattr(models[1], part).distances()) / 2
        for part in ("validation", "test")
    )
    different = models[0].test.different
    assert found == verification_metrics(test, different, equal_error_threshold(validation, different))


def test_every_way_over_the_groups_and_beside_fisherfaces(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Networks are replaced by what they need; Fisherfaces are real."""
    root = made_faces(tmp_path / "faces", subjects=25, images=3)
    (
        monkeypatch.setattr(
            face_committee, "networks", lambda flags, split, number: [face_committee.linear(flags.faces, split)] * 2
        ),
    )
    flags = Flags(faces=str(root), members=2, groups=(0, 3))
    found = measure(flags)
    assert len(found) == 6
    assert {len(groups) for groups in found.values()} == {2}
    assert found["SCN"] == found["2 SCN together"] == found["Fisherfaces"]
    page = markdown(flags, found)
    assert "| 2 SCN together, against a cohort | " in page
    (linear,) = [line for line in page.splitlines() if line.startswith("| Fisherfaces |")]
    assert linear.endswith("| – | – |")
