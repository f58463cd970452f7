"""Products of rounded factors against rounding bit by bit, and what they do to every loss."""

import math

import pytest
import torch
from torch import Tensor

from tests.losses.cases import CASES
from tests.reference.rounding import rounded
from vtr_core.config.losses import ObjectiveConfig, SimilarityPrecision
from vtr_core.data.batches import RowKeys
from vtr_core.losses.contrastive import build_objective
from vtr_core.nn.embeddings import Embeddings
from vtr_core.nn.precision import product

BITS: dict[SimilarityPrecision, int] = {"tf32": 10, "bf16": 7}
LARGEST_ERROR: dict[SimilarityPrecision, float] = {"bf16x3": 1e-5, "tf32": 1e-4, "bf16": 1e-3}
"""Of a loss, relative; its gradient's may be ten times as large; what `similarity_precision` claims."""


def draw(rows: int, dim: int, seed: int) -> Tensor:
    return torch.randn(rows, dim, generator=torch.Generator().manual_seed(seed))


@pytest.mark.parametrize("precision", BITS)
def test_factors_are_rounded_and_sums_are_not(precision: SimilarityPrecision) -> None:
    a, b = draw(3, 7, 0), draw(4, 7, 1)
    found = product(precision)(a, b)
    for i in range(3):
        for j in range(4):
            terms = [
                rounded(float(x), BITS[precision]) * rounded(float(y), BITS[precision])
                for x, y in zip(a[i], b[j], strict=True)
            ]
            assert float(found[i, j]) == pytest.approx(math.fsum(terms), rel=1e-6, abs=1e-6)


def test_three_bf16_products_have_sixteen_bits() -> None:
    a, b = draw(64, 512, 0), draw(64, 512, 1)
    exact = a.double() @ b.double().T
    errors = {kind: float((product(kind)(a, b) - exact).abs().max()) for kind in LARGEST_ERROR}
    scale = 512**0.5
    assert errors["bf16x3"] < 2**-14 * scale
    assert 30 * errors["bf16x3"] < errors["tf32"] < errors["bf16"]


@pytest.mark.parametrize("precision", LARGEST_ERROR)
def test_infinities_and_nan_stay(precision: SimilarityPrecision) -> None:
    a = torch.tensor([[1.0, torch.nan], [1.0, 2.0]])
    found = product(precision)(a, torch.eye(2))
    assert found[0].isnan().any()
    assert found[1].tolist() == [1.0, 2.0]


@pytest.mark.parametrize("precision", LARGEST_ERROR)
@pytest.mark.parametrize("name", CASES)
def test_the_error_of_a_loss_is_what_the_setting_claims(name: str, precision: SimilarityPrecision) -> None:
    """Vectors of length about 1 whose matches are more alike than others, as in training; a batch of 256."""
    config = CASES[name]
    assert isinstance(config, ObjectiveConfig)
    (exact, exact_gradient), (found, gradient) = (
        _loss(config.model_copy(update={"similarity_precision": kind})) for kind in ("float32", precision)
    )
    assert abs(found - exact) <= LARGEST_ERROR[precision] * abs(exact)
    error = (gradient - exact_gradient).norm() / exact_gradient.norm()
    kinks = 10 if "max_margin" in name else 1  # a hinge that is nearly 0 pulls or does not
    assert float(error) <= 10 * kinks * LARGEST_ERROR[precision]


def _loss(config: ObjectiveConfig, rows: int = 256, dim: int = 128) -> tuple[float, Tensor]:
    shared = draw(rows, dim, 0)
    vectors = {
        name: ((shared + draw(rows, dim, seed)) / (2 * dim) ** 0.5).requires_grad_()
        for seed, name in enumerate(("text", "video", "audio"), 1)
    }
    present = {name: torch.ones(rows, dtype=torch.bool) for name in vectors}
    keys = RowKeys(torch.arange(rows), torch.arange(rows) // 3, torch.arange(rows))
    total = build_objective(config)(Embeddings(vectors, present), keys, 700).total
    total.backward()
    return float(total.detach()), torch.stack([v.grad for v in vectors.values() if v.grad is not None])
