"""Principal components of a space, and the variance between its rows."""

import numpy as np
import pytest
import torch

from tests.reference import spaces as slow_spaces
from vtr_core.analysis.effective_dimension import (
    component_counts,
    effective_rank,
    principal_components,
    row_share,
    score_deviation,
)
from vtr_core.errors import DatasetError


def _samples(count=40, dim=6):
    generator = torch.Generator().manual_seed(5)
    mixing = torch.randn(dim, dim, generator=generator, dtype=torch.float64)
    return torch.randn(count, dim, generator=generator, dtype=torch.float64) @ mixing + 3


@pytest.mark.parametrize("count", [40, 7, 4])
def test_variances_equal_those_of_the_covariance(count):
    samples = _samples(count)
    found = principal_components(samples)
    expected = slow_spaces.principal_variances(samples.numpy()).clip(min=0)
    np.testing.assert_allclose(found.variances, expected, rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(found.normalised_variances, expected / expected.sum(), rtol=1e-10, atol=1e-10)
    torch.testing.assert_close(found.directions.T @ found.directions, torch.eye(6, dtype=torch.float64))


@pytest.mark.parametrize("count", [40, 12, 6])
def test_the_first_of_many_components_are_those_of_all(count: int) -> None:
    scales = torch.logspace(1, -2, 30, dtype=torch.float64)
    samples = torch.randn(count, 30, generator=torch.Generator().manual_seed(6), dtype=torch.float64) * scales + 2
    first, every = principal_components(samples, most=5), principal_components(samples)
    assert first.directions.shape == (30, 5)
    torch.testing.assert_close(first.variances, every.variances[:5], rtol=1e-6, atol=0)
    torch.testing.assert_close(first.normalised_variances, every.normalised_variances[:5], rtol=1e-6, atol=0)
    alike = (first.directions * every.directions[:, :5]).sum(dim=0).abs()
    torch.testing.assert_close(alike, torch.ones(5, dtype=torch.float64), rtol=1e-5, atol=0)


def test_counts_are_logarithmic_with_both_ends():
    assert component_counts(64) == [1, 2, 3, 4, 6, 8, 11, 16, 23, 32, 45, 64]
    assert component_counts(1) == [1]
    assert component_counts(100, per_octave=1) == [1, 2, 4, 8, 16, 32, 64, 100]


def test_too_few_samples_are_an_error():
    with pytest.raises(DatasetError, match="at least 2"):
        principal_components(_samples(1))


def test_the_share_of_rows_that_are_alike_is_0_and_of_rows_about_0_it_is_1() -> None:
    rows = torch.randn(5, 3, 4)
    assert row_share(rows[:1].expand(5, 3, 4)) == pytest.approx(0, abs=1e-12)
    assert row_share(rows - rows.mean(dim=0)) == pytest.approx(1)
    assert row_share(torch.zeros(4, 3)) == 0


def test_scores_deviate_from_the_mean_of_their_row() -> None:
    assert score_deviation(torch.tensor([[1.0, 3.0], [10.0, 12.0]])) == pytest.approx(1)
    assert score_deviation(torch.tensor([[5.0, 5.0], [7.0, 7.0]])) == 0


@pytest.mark.parametrize("directions", [1, 2, 4])
def test_the_rank_counts_directions_of_equal_variance(directions: int) -> None:
    along = torch.eye(4)[:directions]
    assert effective_rank(torch.cat([along, -along]) + 7) == pytest.approx(directions, rel=1e-4)
