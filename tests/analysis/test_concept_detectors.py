"""Precision of concept detectors, and concepts that videos have together."""

import numpy as np
import pytest

from tests.reference import calibration as slow_calibration
from tests.reference.cooccurrence import correlation
from vtr_core.analysis.concept_detectors import (
    ConceptPair,
    TagPrecision,
    cooccurrence,
    fates,
    strongest_pairs,
    tag_precision,
)
from vtr_core.errors import DatasetError

RANDOM = np.random.default_rng(0)


@pytest.mark.parametrize("decimals", [8, 1])
def test_tag_precision_equals_loops_with_and_without_ties(decimals):
    scores = RANDOM.normal(size=(8, 5)).round(decimals).astype(np.float32)
    present = RANDOM.random((8, 5)) < 0.4
    present[:, 3], present[2, 1] = False, True
    found = tag_precision(scores, present)
    np.testing.assert_allclose(found.precision, slow_calibration.tag_precision(scores, present), rtol=1e-12)
    assert found.prevalence.tolist() == present.mean(axis=0).tolist()
    assert found.mean == pytest.approx(np.nanmean(found.precision))
    kept = np.isfinite(found.precision)
    assert found.chance == pytest.approx(found.prevalence[kept].mean())


def test_fates():
    prevalence = np.array([0.1, 0.1, 0.1, 0.001, 0.1, 0.8, 0.8])
    train = TagPrecision(np.array([0.9, 0.9, 0.15, 0.9, 0.9, 0.95, 0.85]), prevalence)
    other = TagPrecision(np.array([0.5, 0.15, 0.9, 0.9, np.nan, 0.95, 0.95]), prevalence)
    assert fates(train, other, fewest=5, train_samples=1000) == [
        "learned",
        "not generalised",
        "failed",
        "too rare",
        "too rare",
        "learned",
        "failed",
    ]


def test_no_samples_are_an_error():
    with pytest.raises(DatasetError, match="no samples"):
        tag_precision(np.zeros((0, 6)), np.zeros((0, 6), bool))


@pytest.mark.parametrize("seed", range(5))
def test_correlations_are_pearsons(seed):
    present = np.random.default_rng(seed).random((20, 6)) < 0.4
    present[:, 4], present[:, 5] = False, True
    found = cooccurrence(present)
    for i in range(6):
        for j in range(6):
            assert found.together[i, j] == sum(bool(row[i] and row[j]) for row in present)
            expected = correlation(present[:, i].tolist(), present[:, j].tolist())
            if expected is None:
                assert np.isnan(found.correlation[i, j])
            else:
                assert found.correlation[i, j] == pytest.approx(expected)


def test_the_strongest_pairs_come_first_and_rare_ones_not_at_all():
    columns = {"always": "111111", "a": "111000", "b": "110000", "c": "000111", "d": "000001", "e": "000001"}
    present = np.array([[value == "1" for value in column] for column in columns.values()]).T
    found = cooccurrence(present)
    assert [(pair.first, pair.second) for pair in strongest_pairs(found, 9, 1)][:2] == [(4, 5), (1, 2)]
    (pair,) = strongest_pairs(found, 9, 2)
    assert pair == ConceptPair(1, 2, 2, pair.correlation, 2 / 3, 1.0)
    assert pair.correlation == pytest.approx(0.5**0.5)
    assert strongest_pairs(found, 9, 4) == []
    assert len(strongest_pairs(found, 1, 1)) == 1


def test_ties_go_to_the_more_frequent_concepts():
    present = np.array([[1, 0, 1, 0], [0, 1, 0, 1]]).T.repeat(2, axis=1)[:, [0, 2, 1, 3]].astype(bool)
    assert [(pair.first, pair.second) for pair in strongest_pairs(cooccurrence(present), 2, 1)] == [(0, 2), (1, 3)]
