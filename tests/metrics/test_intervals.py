"""Intervals of proportions and of paired differences."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.reference.causality import bootstrap_low
from vtr_core.metrics.intervals import PairedBootstrap, wilson_interval
from vtr_core.metrics.ranks import MetricError


def test_the_lower_end_is_that_of_sorted_resamples_and_near_the_normal_one() -> None:
    differences = np.random.default_rng(1).normal(0.3, 1.0, 200)
    low = PairedBootstrap(200, seed=3).lower(differences)
    assert low == pytest.approx(bootstrap_low(differences.tolist(), 3), abs=1e-12)
    assert low == pytest.approx(differences.mean() - 1.96 * differences.std() / np.sqrt(200), abs=0.02)
    assert PairedBootstrap(200, seed=3).lower(differences, confidence=0.5) > low
    assert PairedBootstrap(5).lower(np.full(5, 0.25)) == pytest.approx(0.25)


def test_nothing_to_draw_from_is_an_error() -> None:
    with pytest.raises(MetricError, match="0 items"):
        PairedBootstrap(0)


@given(st.integers(1, 10_000), st.data())
def test_the_ends_solve_the_equation(count: int, data: st.DataObject) -> None:
    share = data.draw(st.integers(0, count)) / count
    low, high = wilson_interval(share, count, z=2.0)
    assert 0 <= low <= share + 1e-9
    assert share - 1e-9 <= high <= 1
    for end in (low, high):
        assert (share - end) ** 2 == pytest.approx(4 * end * (1 - end) / count, abs=1e-9)


def test_a_known_interval() -> None:
    assert wilson_interval(0.5, 100) == pytest.approx((0.40383, 0.59617), abs=1e-5)
    assert math.isclose(wilson_interval(0.0, 10)[1], 0.27753, abs_tol=1e-5)
