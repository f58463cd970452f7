"""Distances of encodings grow with difference, and are finite for zero vectors."""

import math

import pytest
import torch

from vtr_core.systems.siamese.model import pair_distance

A, B = torch.tensor([[0.6, 0.8]], dtype=torch.float64), torch.tensor([[1.0, 0.0]], dtype=torch.float64)


@pytest.mark.parametrize(
    ("kind", "expected"),
    [("euclidean", 0.16 + 0.64), ("manhattan", 1 - math.exp(-((0.4 + 0.8) ** 2))), ("cosine", 1 - 0.6)],
)
def test_values(kind, expected):
    assert float(pair_distance(A, B, kind)) == pytest.approx(expected)
    assert float(pair_distance(A, A, kind)) == pytest.approx(0, abs=1e-12)


@pytest.mark.parametrize("kind", ["euclidean", "manhattan", "cosine"])
def test_zero_vectors(kind):
    zero = torch.zeros(1, 2, requires_grad=True)
    distance = pair_distance(zero, zero, kind)
    distance.sum().backward()
    assert torch.isfinite(distance).all()
    assert torch.isfinite(zero.grad).all()


def test_matrix():
    vectors = torch.randn(3, 4)
    assert pair_distance(vectors[:, None], vectors[None], "euclidean").shape == (3, 3)
