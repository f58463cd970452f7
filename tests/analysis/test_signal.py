"""Shares, deviations and ranks of vectors whose answer is known."""

import pytest
import torch

from vtr_core.analysis.effective_dimension import effective_rank, row_share, score_deviation


def test_the_share_of_rows_that_are_alike_is_0_and_of_rows_about_0_it_is_1() -> None:
    rows = torch.randn(5, 3, 4)
    assert row_share(rows[:1].expand(5, 3, 4)) == pytest.approx(0, abs=1e-12)
    assert row_share(rows - rows.mean(dim=0)) == pytest.approx(1)
    assert row_share(torch.zeros(4, 3)) == 0


def test_the_share_is_the_energy_about_the_mean() -> None:
    rows = torch.tensor([[3.0, 1.0], [3.0, -1.0]])
    assert row_share(rows) == pytest.approx(1 / 10)


def test_scores_deviate_from_the_mean_of_their_row() -> None:
    assert score_deviation(torch.tensor([[1.0, 3.0], [10.0, 12.0]])) == pytest.approx(1)
    assert score_deviation(torch.tensor([[5.0, 5.0], [7.0, 7.0]])) == 0


@pytest.mark.parametrize("directions", [1, 2, 4])
def test_the_rank_counts_directions_of_equal_variance(directions: int) -> None:
    along = torch.eye(4)[:directions]
    assert effective_rank(torch.cat([along, -along]) + 7) == pytest.approx(directions, rel=1e-4)


def test_rows_that_are_alike_have_no_rank() -> None:
    assert effective_rank(torch.full((5, 3), 2.0)) == 0
