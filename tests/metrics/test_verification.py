"""Verification: slow code, policies for ties and empties, folds."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.reference import siamese as reference
from vtr_core.errors import InputError
from vtr_core.metrics.verification import (
    equal_error_rate,
    equal_error_threshold,
    fold_accuracy,
    roc_curve,
    true_accept_at,
    verification_metrics,
)

PAIRS = st.lists(st.tuples(st.integers(0, 6), st.booleans()), min_size=2, max_size=30).filter(
    lambda pairs: 0 < sum(y for _, y in pairs) < len(pairs)
)


def arrays(pairs):
    return np.array([d / 4 for d, _ in pairs]), np.array([y for _, y in pairs])


@given(PAIRS, st.integers(0, 6))
def test_slow_code(pairs, cut):
    distances, different = arrays(pairs)
    found = verification_metrics(distances, different, cut / 4)
    assert found.accuracy == pytest.approx(reference.accuracy(distances, different, cut / 4))
    assert found.auc == pytest.approx(reference.area(distances, different))
    every = [reference.accuracy(distances, different, t) for t in [-1, *distances.tolist(), 9]]
    assert found.best_accuracy == pytest.approx(max(every))
    assert reference.accuracy(distances, different, found.best_threshold) == pytest.approx(max(every))
    for rate, share in found.true_accept.items():
        allowed = [t for t in [-1, *distances.tolist()] if (distances[different] <= t).mean() <= rate]
        assert share == pytest.approx(max((distances[~different] <= t).mean() for t in allowed))


@given(PAIRS)
def test_the_curve_rises_from_nothing_to_all_and_errors_meet_on_it(pairs):
    curve = roc_curve(*arrays(pairs))
    assert (curve.false_accept[0], curve.true_accept[0]) == (0, 0)
    assert (curve.false_accept[-1], curve.true_accept[-1]) == (1, 1)
    assert (np.diff(curve.false_accept) >= 0).all()
    rate = equal_error_rate(curve)
    assert 0 <= rate <= 1
    assert np.interp(rate, curve.false_accept, curve.true_accept) == pytest.approx(1 - rate) or len(
        np.unique(curve.false_accept)
    ) < len(curve.false_accept)


def test_known_values():
    distances, different = np.array([0.1, 0.2, 0.3, 0.4]), np.array([False, True, False, True])
    found = verification_metrics(distances, different, 0.3)
    assert (found.accuracy, found.auc, found.equal_error_rate) == (0.75, 0.75, 0.5)
    assert true_accept_at(roc_curve(distances, different), 0.5) == 1.0
    perfect = verification_metrics(np.array([0.1, 0.4]), np.array([False, True]), 0.1)
    assert (perfect.accuracy, perfect.auc, perfect.equal_error_rate) == (1.0, 1.0, 0.0)
    constant = verification_metrics(np.ones(4), different, 1.0)
    assert (constant.accuracy, constant.auc, constant.equal_error_rate) == (0.5, 0.5, 0.5)
    assert set(found.flat()) >= {"accuracy", "auc", "eer", "tar_far_0p01", "tar_far_0p001"}


def test_the_interval_of_the_accuracy_is_wilsons():
    distances, different = np.arange(100.0), np.arange(100) >= 40
    interval = verification_metrics(distances, different, 49.5).accuracy_interval  # 90 of 100 are right
    assert interval == pytest.approx((0.8256, 0.9448), abs=1e-3)


def test_the_equal_error_threshold_lies_where_the_rates_cross():
    assert equal_error_threshold(np.array([0.1, 0.5]), np.array([False, True])) == pytest.approx(0.3)
    distances = np.array([0.1, 0.2, 0.6, 0.3, 0.7, 0.8])
    different = np.array([False, False, False, True, True, True])
    found = equal_error_threshold(distances, different)
    assert 0.3 < found < 0.6, "one of three matching pairs is beyond, one of three different ones within"


def test_folds_use_the_threshold_of_the_others():
    distances = np.array([0.1, 0.3, 0.1, 0.3, 0.25, 0.26])
    different = np.array([False, True, False, True, False, True])
    found = fold_accuracy(distances, different, [0, 0, 1, 1, 2, 2])
    assert found.folds == (1.0, 1.0, 0.5)
    assert found.mean == pytest.approx(2.5 / 3)
    assert found.standard_error == pytest.approx(np.std(found.folds, ddof=1) / np.sqrt(3))


def test_what_cannot_be_judged():
    with pytest.raises(InputError, match="2 different pairs and 0 matching ones; verification needs both kinds"):
        verification_metrics(np.array([0.1, 0.2]), np.array([True, True]), 0.1)
    with pytest.raises(InputError, match="not finite"):
        verification_metrics(np.array([0.1, np.nan]), np.array([True, False]), 0.1)
    with pytest.raises(InputError, match="not finite"):
        verification_metrics(np.array([0.1, 0.2]), np.array([True, False]), float("nan"))
    with pytest.raises(InputError, match="1 fold cannot"):
        fold_accuracy(np.array([0.1, 0.2]), np.array([True, False]), [0, 0])
