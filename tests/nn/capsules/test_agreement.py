"""Routing by agreement against slow code, and its written-out gradient against autograd."""

import itertools

import pytest
import torch

from tests.reference import siamese as reference
from vtr_core.nn.capsules.dynamic_routing import agree

CASES = list(itertools.product((1, 2, 4), ("tanh", "squash"), ("outputs", "inputs"), (1.0, 0.25)))


@pytest.mark.parametrize(("iterations", "nonlinearity", "couplings", "scale"), CASES)
def test_poses_and_gradient_equal_slow_code(iterations, nonlinearity, couplings, scale):
    torch.manual_seed(0)
    votes = torch.randn(2, 3, 5, 4, dtype=torch.float64, requires_grad=True)
    expected = torch.stack([reference.agree(v, iterations, nonlinearity, couplings == "outputs", scale) for v in votes])
    found = agree(votes, iterations, nonlinearity, couplings, scale)
    torch.testing.assert_close(found, expected, atol=1e-9, rtol=1e-7)
    weights = torch.randn_like(expected)
    (slow,) = torch.autograd.grad((expected * weights).sum(), votes)
    (fast,) = torch.autograd.grad((found * weights).sum(), votes)
    torch.testing.assert_close(fast, slow, atol=1e-8, rtol=1e-6)


def test_strides_change_nothing():
    torch.manual_seed(0)
    votes = torch.randn(5, 2, 3, 4).permute(1, 2, 0, 3).requires_grad_()
    plain = votes.detach().contiguous().requires_grad_()
    for one in (votes, plain):
        agree(one, 3, "tanh").square().sum().backward()
    torch.testing.assert_close(votes.grad, plain.grad)


@pytest.mark.parametrize("nonlinearity", ["tanh", "squash"])
def test_zero_votes_have_finite_poses_and_gradients(nonlinearity):
    votes = torch.zeros(1, 2, 3, 4, requires_grad=True)
    poses = agree(votes, 4, nonlinearity)
    poses.sum().backward()
    assert poses.eq(0).all()
    assert torch.isfinite(votes.grad).all()


def test_half_precision_votes_keep_their_precision():
    votes = torch.randn(2, 3, 5, 4, requires_grad=True)
    with torch.autocast("cpu", torch.bfloat16):
        poses = agree(votes.bfloat16(), 3, "squash")
    poses.float().sum().backward()
    assert poses.dtype == torch.bfloat16
    torch.testing.assert_close(poses.float(), agree(votes, 3, "squash"), atol=0.03, rtol=0.1)
