"""Batch norm of maps: torch's own alone, and the whole batch's with the sums of several workers."""

import pytest
import torch
from torch import nn

from vtr_core.nn.normalization import ChannelBatchNorm, share_channels


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
        share_channels(part, lambda value: sums.append(value) or value)
        part(half)
    total = sums[0] + sums[1]
    for part in parts:
        part.reset_running_stats()
        share_channels(part, lambda value: total)
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
    share_channels(norm, lambda value: value * 0)
    maps = torch.randn(2, 2, 3, 3)
    torch.testing.assert_close(norm(maps), maps, atol=1e-4, rtol=1e-4)


@pytest.mark.parametrize("workers", [1, 2])
def test_a_channel_that_is_not_finite_keeps_its_averages(workers):
    """Its step is skipped, and later validations would else be of a model that normalises by infinity."""
    norm = ChannelBatchNorm(2)
    if workers > 1:
        share_channels(norm, lambda value: 2 * value)
    maps = torch.randn(4, 2, 3, 3)
    maps[1, 0, 2, 2] = torch.inf
    norm(maps)
    assert norm.running_mean[0] == 0
    assert norm.running_var[0] == 1
    assert norm.running_mean[1] != 0
    assert norm.running_var.isfinite().all()
