"""AMSGrad and the rate over √t."""

import math

import pytest
import torch
from torch import nn

from vtr_core.config.training import OptimizerConfig
from vtr_core.train.optimizer import build_optimizer, learning_rate_at


@pytest.mark.parametrize("warmup", [0, 3])
def test_inverse_square_root(warmup: int) -> None:
    config = OptimizerConfig(learning_rate=0.5, schedule="inverse_sqrt", warmup_steps=warmup)
    for t in range(1, 20):
        assert learning_rate_at(config, warmup + t - 1, 100) == pytest.approx(0.5 / math.sqrt(t))


def test_amsgrad_by_its_equations() -> None:
    """v̂ = max(v̂, v): Reddi et al. 2018, algorithm 2, with the bias corrections that torch has."""
    layer = nn.Linear(1, 1, bias=False)
    start = float(layer.weight.detach())
    optimizer = build_optimizer(layer, OptimizerConfig(learning_rate=0.1, amsgrad=True))
    weight, m, v, largest = start, 0.0, 0.0, 0.0
    for t, gradient in enumerate([3.0, 0.1, -0.2, 0.05], start=1):
        layer.weight.grad = torch.full((1, 1), gradient)
        optimizer.step()
        m, v = 0.9 * m + 0.1 * gradient, 0.999 * v + 0.001 * gradient**2
        largest = max(largest, v)
        weight -= 0.1 * (m / (1 - 0.9**t)) / (math.sqrt(largest / (1 - 0.999**t)) + 1e-8)
        assert float(layer.weight.detach()) == pytest.approx(weight, rel=1e-4)
