"""Intervals of proportions."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vtr_core.metrics.intervals import wilson_interval


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
