import pytest
import torch

from vtr_core.config.losses import AdaptiveMargin, ConstantMargin, GeometricMargin, LinearMargin
from vtr_core.losses.objective import adaptive_margin, margin_at

SIMILARITY = torch.tensor([[3.0, 1.0, 2.0], [0.0, 5.0, 1.0], [2.0, 2.0, 2.0]])
A, B = SIMILARITY, torch.eye(3)


def test_constant_margin():
    assert margin_at(ConstantMargin(value=0.2), 10**6, A, B) == 0.2


@pytest.mark.parametrize(("step", "expected"), [(0, 0.1), (9, 0.1), (10, 0.2), (29, 0.4)])
def test_geometric_margin_grows_every_so_many_steps(step, expected):
    margin = GeometricMargin(initial=0.1, factor=2.0, every=10)
    assert margin_at(margin, step, A, B) == pytest.approx(expected)


@pytest.mark.parametrize(("step", "expected"), [(0, 0.1), (50, 0.2), (100, 0.3), (1000, 0.3)])
def test_linear_margin_grows_and_stays(step, expected):
    margin = LinearMargin(initial=0.1, final=0.3, steps=100)
    assert margin_at(margin, step, A, B) == pytest.approx(expected)


def test_adaptive_margin_is_detached():
    margin = margin_at(AdaptiveMargin(scale=0.5), 0, A.clone().requires_grad_(), B.clone().requires_grad_())
    assert not margin.requires_grad
    torch.testing.assert_close(margin, torch.tensor([0.75, 2.25, 0.0]))


def test_adaptive_margin_needs_no_similarity_matrix():
    generator = torch.Generator().manual_seed(0)
    a, b = (torch.randn(7, 3, generator=generator, dtype=torch.float64) for _ in range(2))
    similarity = a @ b.T
    others = [similarity[i, torch.arange(7) != i].mean() for i in range(7)]
    torch.testing.assert_close(adaptive_margin(a, b, 0.3), 0.3 * (similarity.diagonal() - torch.stack(others)))
    torch.testing.assert_close(adaptive_margin(a[:1], b[:1], 1.0), similarity[:1, 0])
