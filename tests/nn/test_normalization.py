"""Batch norms over present rows and all workers, and standardisation."""

import numpy as np
import pytest
import torch
from torch import nn

from vtr_core.data.reading.feature_statistics import FeatureStatistics
from vtr_core.nn.normalization import (
    ChannelBatchNorm,
    PresentBatchNorm,
    Standardization,
    share_statistics,
)

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


def test_alone_it_is_torchs():
    torch.manual_seed(0)
    maps = torch.randn(4, 3, 5, 5)
    ours, theirs = ChannelBatchNorm(3), nn.BatchNorm2d(3)
    torch.testing.assert_close(ours(maps), theirs(maps))
    torch.testing.assert_close(ours.running_var, theirs.running_var)


def test_the_whole_batch_in_parts_and_its_gradient():
    torch.manual_seed(0)
    maps = torch.randn(6, 3, 4, 4, dtype=torch.float64, requires_grad=True)
    whole = nn.BatchNorm2d(3).double()
    expected = whole(maps)
    parts = [ChannelBatchNorm(3).double() for _ in range(2)]
    sums = []
    for part, half in zip(parts, maps.split(3), strict=True):  # first, what each worker sends
        share_statistics(part, lambda value: sums.append(value) or value, ChannelBatchNorm)
        part(half)
    total = sums[0] + sums[1]
    for part in parts:
        part.reset_running_stats()
        share_statistics(part, lambda value: total, ChannelBatchNorm)
    found = torch.cat([part(half) for part, half in zip(parts, maps.split(3), strict=True)])
    torch.testing.assert_close(found, expected)
    torch.testing.assert_close(parts[0].running_var, whole.running_var)
    torch.testing.assert_close(parts[1].running_mean, whole.running_mean)
    weights = torch.randn_like(expected)
    (theirs,) = torch.autograd.grad((expected * weights).sum(), maps)
    (ours,) = torch.autograd.grad((found * weights).sum(), maps)
    torch.testing.assert_close(ours, theirs)


def test_evaluation_uses_running_averages():
    norm = ChannelBatchNorm(2).eval()
    share_statistics(norm, lambda value: value * 0, ChannelBatchNorm)
    maps = torch.randn(2, 2, 3, 3)
    torch.testing.assert_close(norm(maps), maps, atol=1e-4, rtol=1e-4)


@pytest.mark.parametrize("workers", [1, 2])
def test_a_channel_that_is_not_finite_keeps_its_averages(workers):
    """Its step is skipped, and later validations would else be of a model that normalises by infinity."""
    norm = ChannelBatchNorm(2)
    if workers > 1:
        share_statistics(norm, lambda value: 2 * value, ChannelBatchNorm)
    maps = torch.randn(4, 2, 3, 3)
    maps[1, 0, 2, 2] = torch.inf
    norm(maps)
    assert norm.running_mean[0] == 0
    assert norm.running_var[0] == 1
    assert norm.running_mean[1] != 0
    assert norm.running_var.isfinite().all()


STATISTICS = FeatureStatistics(np.array([1.0, -2.0], np.float32), np.array([0.5, 4.0], np.float32))


def test_features_are_shifted_and_scaled():
    module = Standardization(2)
    module.load(STATISTICS)
    assert module(torch.tensor([[2.0, 2.0], [1.0, -2.0]])).tolist() == [[2.0, 1.0], [0.0, 0.0]]
