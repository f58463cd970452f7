"""Precision of concept detectors, and concepts that videos have together."""

import numpy as np
import pytest

from tests.reference import calibration as slow_calibration
from vtr_core.analysis.concept_detectors import (
    TagPrecision,
    fates,
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
