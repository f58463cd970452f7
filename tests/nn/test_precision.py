"""Float32 in similarities and distances."""

import math

import pytest
import torch

from vtr_core.nn.precision import at_least_float32, full_precision
from vtr_core.systems.siamese.model import pair_distance


@full_precision
def _product(a, b, scale=None):
    return a @ b if scale is None else a @ b * scale


@pytest.mark.parametrize(
    ("given", "computed"),
    [
        (torch.float16, torch.float32),
        (torch.bfloat16, torch.float32),
        (torch.float32, torch.float32),
        (torch.float64, torch.float64),
    ],
)
def test_computes_in_float32_or_more_under_autocast(given, computed):
    a = torch.randn(3, 3, generator=torch.Generator().manual_seed(0)).to(given)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        product = _product(a, a, scale=a[0, 0])
    assert product.dtype == at_least_float32(a).dtype == computed
    torch.testing.assert_close(product, a.to(computed) @ a.to(computed) * a[0, 0].to(computed), atol=0, rtol=0)


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
