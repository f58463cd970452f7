"""The pyramid against slow code, at any grid and scale."""

import pytest
import torch

from tests.reference.muse import pooled_grid, refined, upsampled
from vtr_core.errors import ConfigError
from vtr_core.nn.mamba.pyramid import Pyramid

DIM = 8


def _pyramid(grid, scales, dim=DIM):
    torch.manual_seed(0)
    pyramid = Pyramid(dim, grid, scales).double()
    with torch.no_grad():
        for parameter in pyramid.parameters():
            parameter.add_(0.1 * torch.randn_like(parameter))
    return pyramid


def _patches(grid, frames=3):
    generator = torch.Generator().manual_seed(1)
    return torch.randn(frames, grid**2, DIM, generator=generator, dtype=torch.float64)


@pytest.mark.parametrize(("grid", "scale"), [(7, 3), (7, 5), (4, 2), (5, 5), (3, 6)])
def test_a_scale_equals_slow_code(grid, scale):
    pyramid, patches = _pyramid(grid, [scale]), _patches(grid)
    (found,) = pyramid(patches)
    layers = list(pyramid.scales[str(scale)])
    for frame, tokens in zip(patches, found, strict=True):
        resampled = frame
        if scale < grid:
            resampled = pooled_grid(frame, grid, scale)
        if scale > grid:
            resampled = upsampled(frame, grid, layers[0])
        expected = refined(resampled, scale, layers[-5:-3], layers[-2:])
        torch.testing.assert_close(tokens, expected, atol=1e-10, rtol=0)


def test_other_scales_are_refused():
    with pytest.raises(ConfigError, match=r"scale 10 cannot be made of a 7 × 7 grid; 1, …, 7, 14 and 28 can"):
        Pyramid(DIM, 7, (1, 10))
