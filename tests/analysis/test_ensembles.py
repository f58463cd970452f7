"""Matched ranks, ensembles, stable dimensions, canonical correlations."""

import math

import numpy as np
import pytest
import torch
from scipy import stats

from tests.reference import spaces as slow_spaces
from vtr_core.analysis.ensembles import canonical_correlations, difference, spread, stable_region
from vtr_core.errors import DatasetError

FIRST, SECOND = [20.2, 20.6, 20.1, 20.4], [20.9, 21.0, 20.5]


def test_one_run_has_no_spread_and_none_is_an_error():
    assert spread([2.0]).mean == 2.0
    assert math.isnan(spread([2.0]).std)
    with pytest.raises(DatasetError, match="one run at least"):
        spread([])


def test_z_test_is_two_sided():
    found = difference(FIRST, SECOND)
    error = math.sqrt(np.var(FIRST, ddof=1) / 4 + np.var(SECOND, ddof=1) / 3)
    assert found.difference == pytest.approx(np.mean(FIRST) - np.mean(SECOND))
    assert found.z == pytest.approx(found.difference / error)
    assert found.p_value == pytest.approx(2 * stats.norm.sf(abs(found.z)))
    assert found.welch_p_value == pytest.approx(stats.ttest_ind(FIRST, SECOND, equal_var=False).pvalue)
    assert difference(SECOND, FIRST).p_value == pytest.approx(found.p_value)


def test_a_single_run_on_a_side_cannot_be_tested():
    assert difference([1.0], [2.0, 3.0]) is None


def test_runs_without_any_spread():
    assert difference([1.0, 1.0], [1.0, 1.0]).p_value == 1.0
    assert difference([1.0, 1.0], [2.0, 2.0]).p_value == 0.0


def test_the_region_goes_from_the_best_as_far_as_the_loss_allows():
    assert stable_region([512, 16, 64, 256, 1024, 128], [0.975, 0.5, 0.90, 1.0, 0.80, 0.98]) == (128, 512)
    assert stable_region([1, 2, 3, 4], [0.99, 0.5, 1.0, 0.99]) == (3, 4)  # beyond a worse one nothing counts
    assert stable_region([8, 8, 16, 16], [0.9, 1.1, 0.9, 0.7]) == (8, 8)  # one dimension counts by its mean


def _spaces(count=60, shared=2, seed=6):
    """Two spaces of 5 and 4 dimensions with `shared` directions in common, up to noise."""
    random = np.random.default_rng(seed)
    common = random.normal(size=(count, shared))
    first = common @ random.normal(size=(shared, 5)) + 0.5 * random.normal(size=(count, 5)) + 10
    second = common @ random.normal(size=(shared, 4)) + 0.5 * random.normal(size=(count, 4)) - 3
    return torch.from_numpy(first), torch.from_numpy(second)


@pytest.mark.parametrize("ridge", [0.0, 1e-3, 0.3])
def test_fitted_correlations_equal_the_eigenvalue_problem(ridge):
    first, second = _spaces()
    _, _, expected = slow_spaces.canonical_pairs(first.numpy(), second.numpy(), ridge)
    np.testing.assert_allclose(canonical_correlations(first, second, ridge=ridge).fitted, expected, atol=1e-9)


@pytest.mark.parametrize("ridge", [0.0, 0.1])
def test_held_out_correlations_equal_those_of_the_projections(ridge):
    first, second = _spaces()
    other_first, other_second = _spaces(seed=7)
    u, w, _ = slow_spaces.canonical_pairs(first.numpy(), second.numpy(), ridge)
    expected = [
        np.corrcoef(other_first.numpy() @ u[:, i], other_second.numpy() @ w[:, i])[0, 1] for i in range(u.shape[1])
    ]
    found = canonical_correlations(first, second, ridge=ridge)
    np.testing.assert_allclose(found.correlations(other_first, other_second), expected, atol=1e-9)
    torch.testing.assert_close(found.correlations(first, second), found.fitted)


def test_directions_that_only_rounding_made_do_not_count():
    first, second = _spaces()
    doubled = torch.cat([first, first[:, :2] @ torch.tensor([[1.0, 2.0], [3.0, 4.0]]).double()], dim=1)
    expected = canonical_correlations(first, second, ridge=0.0).fitted
    torch.testing.assert_close(canonical_correlations(doubled, second, ridge=0.0).fitted, expected)


def test_fewer_samples_than_dimensions_say_nothing_when_fitted_and_are_seen_through_when_held_out():
    random = torch.Generator().manual_seed(8)
    first, second = torch.randn(2, 200, 40, generator=random).double()
    found = canonical_correlations(first[:30], second[:30], ridge=0.0)
    torch.testing.assert_close(found.fitted, torch.ones(len(found.fitted)).double())
    assert found.correlations(first[30:], second[30:]).abs().mean() < 0.15
    assert canonical_correlations(first[:30], second[:30], ridge=10.0).fitted[-1] < 0.99


def test_bad_requests_are_errors():
    first, second = _spaces()
    with pytest.raises(DatasetError, match="1 samples; at least 2"):
        canonical_correlations(first[:1], second[:1], ridge=0.0)
    with pytest.raises(DatasetError, match="the same"):
        canonical_correlations(torch.ones(9, 3), second[:9].float(), ridge=0.0)
