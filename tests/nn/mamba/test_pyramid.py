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


def test_published_scales_of_vit_b_32_and_the_order():
    """7 × 7 patches; a last scale of 28."""
    sizes = [tokens.shape for tokens in _pyramid(7, [28, 1, 14, 3, 7])(_patches(7))]
    assert sizes == [(3, 9, DIM), (3, 49, DIM), (3, 196, DIM), (3, 784, DIM)]


def test_channels_are_halved_where_scales_double():
    """As in the simple pyramid of Li et al. 2022."""
    largest = _pyramid(2, [8]).scales["8"]
    assert [tuple(layer.weight.shape) for layer in (largest[0], largest[3], largest[4])] == [
        (DIM, DIM // 2, 2, 2),
        (DIM // 2, DIM // 4, 2, 2),
        (DIM, DIM // 4, 1, 1),
    ]


@pytest.mark.parametrize("scales", [[1], [1, 3], [1, 3, 7, 14, 28], [2, 6]])
def test_every_parameter_and_patch_gets_a_gradient(scales):
    pyramid, patches = _pyramid(7, scales), _patches(7).requires_grad_()
    found = pyramid(patches)
    assert len(found) == len([scale for scale in scales if scale != 1])
    if found:
        sum((tokens * torch.randn_like(tokens)).sum() for tokens in found).backward()
        assert all(parameter.grad is not None and parameter.grad.any() for parameter in pyramid.parameters())
        if max(scales) >= 7:  # maxima pass over some
            assert patches.grad.any(dim=2).all()


def test_frames_do_not_influence_each_other():
    pyramid, patches = _pyramid(7, [3, 14]), _patches(7)
    other = patches.clone()
    other[1] += torch.arange(DIM)
    for one, two in zip(pyramid(patches), pyramid(other), strict=True):
        assert (one != two).any(dim=(1, 2)).tolist() == [False, True, False]


def test_other_scales_are_refused():
    with pytest.raises(ConfigError, match=r"scale 10 cannot be made of a 7 × 7 grid; 1, …, 7, 14 and 28 can"):
        Pyramid(DIM, 7, (1, 10))
