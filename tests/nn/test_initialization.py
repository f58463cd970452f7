"""Sizes of random layers' outputs are those asked for."""

import pytest
import torch
from torch import nn

from vtr_core.nn.initialization import (
    GELU_SIZE,
    RELU_SIZE,
    SIGMOID_SIZE,
    SILU_SIZE,
    contrasted_size,
    keep_size,
)


def size(values: torch.Tensor) -> float:
    return float(values.detach().square().mean().sqrt())


@pytest.fixture(autouse=True)
def _seeded() -> None:
    torch.manual_seed(0)


@pytest.mark.parametrize(("in_size", "out_size"), [(1.0, 1.0), (0.02, 1.0), (30.0, 0.1)])
def test_a_layer_gives_the_size_that_is_wanted(in_size: float, out_size: float) -> None:
    layer = nn.Linear(300, 400)
    keep_size(layer, in_size, out_size)
    assert size(layer(in_size * torch.randn(200, 300))) == pytest.approx(out_size, rel=0.05)
    assert not layer.bias.any()


@pytest.mark.parametrize(
    ("function", "expected"),
    [
        (torch.sigmoid, SIGMOID_SIZE),
        (torch.relu, RELU_SIZE),
        (nn.functional.gelu, GELU_SIZE),
        (nn.functional.silu, SILU_SIZE),
    ],
)
def test_sizes_behind_functions(function, expected: float) -> None:
    assert size(function(torch.randn(200_000))) == pytest.approx(expected, rel=0.01)


def test_products_of_embeddings_deviate_by_1() -> None:
    a, b = contrasted_size(256) * torch.randn(2, 300, 256)
    assert float((a @ b.T).std()) == pytest.approx(1, rel=0.05)


@pytest.mark.parametrize(
    ("layer", "shape"),
    [
        (nn.Conv1d(40, 60, 3), (20, 40, 50)),
        (nn.Conv1d(40, 40, 4, groups=40), (200, 40, 30)),
        (nn.Conv2d(20, 30, 3), (10, 20, 9, 9)),
        (nn.ConvTranspose2d(60, 30, kernel_size=2, stride=2), (10, 60, 7, 7)),
    ],
)
def test_convolutions_too(layer: nn.Conv1d | nn.Conv2d | nn.ConvTranspose2d, shape: tuple[int, ...]) -> None:
    keep_size(layer, in_size=2.0, out_size=0.5)
    assert size(layer(2 * torch.randn(shape))) == pytest.approx(0.5, rel=0.08)
