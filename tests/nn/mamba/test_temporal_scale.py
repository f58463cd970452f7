"""Frames at a coarser scale in time."""

import pytest
import torch
from torch.nn.functional import gelu

from vtr_core.nn.mamba.pyramid import TemporalScale

DIM = 4


def _scale(width):
    torch.manual_seed(0)
    return TemporalScale(DIM, width).double()


def _frames(count=7):
    return torch.randn(2, count, DIM, generator=torch.Generator().manual_seed(1), dtype=torch.float64)


def test_windows_are_maxima_and_mix_with_their_neighbours():
    scale, frames = _scale(3), _frames()
    found = scale(frames, torch.ones(2, 7, dtype=torch.bool))
    assert found.mask.all()
    for row in range(2):
        highest = [frames[row, part].amax(dim=0) for part in (slice(0, 3), slice(3, 6), slice(6, 7))]
        convolution, norm, _ = scale.expand
        hidden = [gelu(norm(_column(convolution.weight[:, :, 0] @ value + convolution.bias))) for value in highest]
        nothing = torch.zeros(DIM, dtype=torch.float64)
        hidden = [nothing, *(value[0, :, 0] for value in hidden), nothing]
        convolution, norm = scale.mix
        for window in range(3):
            mixed = sum(convolution.weight[:, :, place] @ hidden[window + place] for place in range(3))
            expected = norm(_column(mixed + convolution.bias))[0, :, 0]
            torch.testing.assert_close(found.tokens[row, window], expected, atol=1e-10, rtol=0)


@pytest.mark.parametrize("width", [2, 3, 20])
def test_padding_changes_nothing(width):
    scale, frames = _scale(width), _frames()
    expected = scale(frames[:, :5], torch.ones(2, 5, dtype=torch.bool)).tokens
    held = frames.masked_fill((torch.arange(7) >= 5)[:, None], torch.nan)
    found = scale(held, (torch.arange(7) < 5).expand(2, 7))
    assert found.mask.sum(dim=1).tolist() == [-(-5 // width)] * 2
    torch.testing.assert_close(found.tokens[:, : expected.shape[1]], expected, atol=1e-12, rtol=0)


def _column(values):
    return values[None, :, None]
