import numpy as np
import pytest
import torch

from tests.reference import spaces as reference
from vtr_core.analysis.ensembles import canonical_correlations
from vtr_core.errors import ConfigError, DatasetError


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
    _, _, expected = reference.canonical_pairs(first.numpy(), second.numpy(), ridge)
    np.testing.assert_allclose(canonical_correlations(first, second, ridge=ridge).fitted, expected, atol=1e-9)


@pytest.mark.parametrize("ridge", [0.0, 0.1])
def test_held_out_correlations_equal_those_of_the_projections(ridge):
    first, second = _spaces()
    other_first, other_second = _spaces(seed=7)
    u, w, _ = reference.canonical_pairs(first.numpy(), second.numpy(), ridge)
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
        canonical_correlations(first[:1], second[:1])
    with pytest.raises(DatasetError, match="the same"):
        canonical_correlations(torch.ones(9, 3), second[:9].float())
    with pytest.raises(ConfigError, match="ridge"):
        canonical_correlations(first, second, ridge=float("nan"))
    with pytest.raises(ConfigError, match="at least 1"):
        canonical_correlations(first, second, top=0)
