import pytest
import torch

from vtr_core.config.loss import AdaptiveMargin, ConstantMargin, GeometricMargin, LinearMargin
from vtr_core.losses.margins import margin_at

SIMILARITY = torch.tensor([[3.0, 1.0, 2.0], [0.0, 5.0, 1.0], [2.0, 2.0, 2.0]])


def test_constant_margin():
    assert margin_at(ConstantMargin(value=0.2), 10**6, SIMILARITY) == 0.2


@pytest.mark.parametrize(("step", "expected"), [(0, 0.1), (9, 0.1), (10, 0.2), (29, 0.4)])
def test_geometric_margin_grows_every_so_many_steps(step, expected):
    margin = GeometricMargin(initial=0.1, factor=2.0, every=10)
    assert margin_at(margin, step, SIMILARITY) == pytest.approx(expected)


@pytest.mark.parametrize(("step", "expected"), [(0, 0.1), (50, 0.2), (100, 0.3), (1000, 0.3)])
def test_linear_margin_grows_and_stays(step, expected):
    margin = LinearMargin(initial=0.1, final=0.3, steps=100)
    assert margin_at(margin, step, SIMILARITY) == pytest.approx(expected)


def test_adaptive_margin_is_detached():
    similarity = SIMILARITY.clone().requires_grad_()
    margin = margin_at(AdaptiveMargin(scale=0.5), 0, similarity)
    assert not margin.requires_grad
    torch.testing.assert_close(margin, torch.tensor([0.75, 2.25, 0.0]))
