"""Batch normalisation of the present rows equals torch's on those rows alone."""

import pytest
import torch
from torch import nn

from vtr_core.nn.normalization import PresentBatchNorm, share_statistics

DIM = 5


def _rows(count: int = 8, seed: int = 0) -> torch.Tensor:
    return 3 + 2 * torch.randn(count, DIM, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def _pair() -> tuple[PresentBatchNorm, nn.BatchNorm1d]:
    ours, theirs = PresentBatchNorm(DIM).double(), nn.BatchNorm1d(DIM).double()
    with torch.no_grad():
        for norm in (ours, theirs):
            norm.weight.copy_(torch.linspace(0.5, 2, DIM))
            norm.bias.copy_(torch.linspace(-1, 1, DIM))
    return ours, theirs


def test_it_equals_torch_s_on_the_rows_that_are_present() -> None:
    ours, theirs = _pair()
    present = torch.tensor([True, False, True, True, False, True, True, True])
    for seed in range(3):
        rows = _rows(seed=seed)
        rows[1] = torch.nan
        found = ours(rows, present)
        torch.testing.assert_close(found[present], theirs(rows[present]))
        assert (found[~present] == 0).all()
    torch.testing.assert_close(ours.mean, theirs.running_mean)
    torch.testing.assert_close(ours.variance, theirs.running_var)
    ours.eval(), theirs.eval()
    torch.testing.assert_close(ours(_rows(), present)[present], theirs(_rows()[present]))


def test_its_gradients_equal_torch_s() -> None:
    ours, theirs = _pair()
    present = torch.tensor([True] * 6 + [False] * 2)
    weights = torch.arange(6.0 * DIM, dtype=torch.float64).reshape(6, DIM).sin()
    gradients = []
    for norm in (ours, theirs):
        rows = _rows().requires_grad_()
        found = norm(rows, present)[present] if norm is ours else norm(rows[present])
        gradients.append(torch.autograd.grad((found * weights).sum(), [rows, norm.weight, norm.bias]))
    for one, other in zip(*gradients, strict=True):
        torch.testing.assert_close(one, other)


@pytest.mark.parametrize("count", [0, 1])
def test_fewer_than_two_rows_take_the_running_averages(count: int) -> None:
    norm, _ = _pair()
    norm(_rows(), torch.ones(8, dtype=torch.bool))
    kept, present = norm.mean.clone(), torch.arange(8) < count
    expected = norm.eval()(_rows(seed=4), present)
    torch.testing.assert_close(norm.train()(_rows(seed=4), present), expected)
    assert torch.equal(norm.mean, kept)


def test_values_that_are_not_finite_do_not_reach_the_running_averages() -> None:
    norm, _ = _pair()
    rows = _rows()
    rows[0, 0] = torch.inf
    norm(rows, torch.ones(8, dtype=torch.bool))
    assert norm.mean[0] == 0
    assert norm.mean.isfinite().all()
    assert norm.mean[1:].abs().min() > 0.1


def test_statistics_are_shared_where_a_total_is_given() -> None:
    model = nn.Sequential(nn.Linear(DIM, DIM), nn.ModuleList([PresentBatchNorm(DIM)]))
    share_statistics(model, lambda sums: 2 * sums)
    norm = model[1][0]
    assert isinstance(norm, PresentBatchNorm)
    rows, present = _rows().float(), torch.ones(8, dtype=torch.bool)
    norm(rows, present)  # as if another worker had the same rows: the same mean, the variance of twice as many
    torch.testing.assert_close(norm.mean, 0.1 * rows.mean(dim=0))
    torch.testing.assert_close(norm.variance, 0.9 + 0.1 * torch.cat([rows, rows]).var(dim=0))
