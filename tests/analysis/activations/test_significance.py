"""Exact tests against whole-number arithmetic, and false discoveries against the definition."""

import numpy as np
import pytest

from tests.reference import activations as reference
from vtr_core.analysis.concept_profiles import adjusted, exact_p_values


@pytest.mark.parametrize("clips", [7, 40])
def test_p_values_are_those_of_whole_numbers(clips: int) -> None:
    """Every joint count that small margins allow, several pairs in one call."""
    rng = np.random.default_rng(clips)
    named, active = rng.integers(0, clips + 1, 9), rng.integers(0, clips + 1, 5)
    joint = np.array([[rng.integers(max(0, n + a - clips), min(n, a) + 1) for a in active] for n in named])
    found = exact_p_values(joint, named, active, clips)
    expected = [[reference.exact_p(int(k), int(n), int(a), clips) for a, k in zip(active, row, strict=True)]
                for n, row in zip(named, joint, strict=True)]  # fmt: skip
    np.testing.assert_allclose(found, expected, rtol=1e-9)


def test_a_far_tail_keeps_its_digits() -> None:
    found = exact_p_values(np.array([[300]]), np.array([300]), np.array([400]), 4000)[0, 0]
    assert found == pytest.approx(reference.exact_p(300, 300, 400, 4000), rel=1e-8)
    assert found < 1e-250


@pytest.mark.parametrize("levels", [4, 10**6])
def test_adjusted_p_values(levels: int) -> None:
    p = np.random.default_rng(5).integers(1, levels + 1, (6, 5)) / levels
    expected = np.reshape(reference.adjusted(p.ravel().tolist()), p.shape)
    np.testing.assert_allclose(adjusted(p), expected, rtol=1e-12)
