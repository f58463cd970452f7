"""Losses of pairs and triplets."""

from collections.abc import Callable

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from tests.reference import dual as slow_dual
from tests.reference import siamese as slow_siamese
from vtr_core.losses.pair import contrastive, double_margin
from vtr_core.losses.ranking import hardest_negative_triplet, triplet_terms
from vtr_core.similarity import generalized_jaccard

DISTANCES = torch.tensor([0.05, 0.15, 0.25, 0.45, 0.6, 0.9], dtype=torch.float64)
DIFFERENT = torch.tensor([False, True, False, True, False, True])


def test_golden_values():
    assert float(contrastive(DISTANCES, DIFFERENT, 0.4)) == pytest.approx(0.575, abs=1e-12)
    assert float(double_margin(DISTANCES, DIFFERENT, 0.5, 0.2)) == pytest.approx(0.2875, abs=1e-12)
    assert float(contrastive(DISTANCES, DIFFERENT.double(), 0.4)) == pytest.approx(0.575, abs=1e-12)


PAIRS = st.lists(st.tuples(st.floats(0, 4), st.booleans()), min_size=1, max_size=20)


@given(PAIRS, st.floats(0.1, 2), st.floats(0, 0.1))
def test_slow_code(pairs, margin, low):
    distances, different = [d for d, _ in pairs], [y for _, y in pairs]
    d, y = torch.tensor(distances, dtype=torch.float64), torch.tensor(different)
    expected = slow_siamese.contrastive(distances, different, margin)
    assert float(contrastive(d, y, margin)) == pytest.approx(expected)
    assert float(contrastive(d, y, margin, "mean")) == pytest.approx(expected / len(pairs))
    assert contrastive(d, y, margin, "none").shape == (len(pairs),)
    assert float(double_margin(d, y, margin, low)) == pytest.approx(
        slow_siamese.double_margin(distances, different, margin, low)
    )


K = torch.arange(20, dtype=torch.float64)
VIDEO, TEXT = (0.9 * K + 0.2).sin().abs().reshape(5, 4), (0.9 * K + 0.5).sin().abs().reshape(5, 4)


def all_negatives_triplet(similarity: Tensor, margin: float, negatives: Tensor | None = None) -> Tensor:
    """The sum over all negatives, in both directions, as the dual encoder's loss adds up its blocks."""
    apart = ~torch.eye(len(similarity), dtype=torch.bool)
    counted = apart if negatives is None else negatives & apart
    ways = (similarity, similarity.T)
    return torch.stack([triplet_terms(way, counted, way.diagonal(), margin, "all") for way in ways]).sum()


def test_golden_values_of_triplets() -> None:
    dot, jaccard = VIDEO @ TEXT.T, generalized_jaccard(VIDEO, TEXT)
    assert float(hardest_negative_triplet(dot, 0.2)) == pytest.approx(2.0546107617, abs=1e-10)
    assert float(all_negatives_triplet(dot, 0.2)) == pytest.approx(2.5709191418, abs=1e-10)
    assert float(hardest_negative_triplet(jaccard, 0.2)) == pytest.approx(2.3347960230, abs=1e-10)
    assert float(all_negatives_triplet(jaccard, 0.2)) == pytest.approx(2.6389063678, abs=1e-10)
    expected = [0.72470348, 0.53543236, 0.34493766, 0.34840150, 0.39368563]
    np.testing.assert_allclose(jaccard[0], expected, atol=5e-9)


def _cases() -> list[tuple[Tensor, Tensor]]:
    generator = torch.Generator().manual_seed(0)
    cases = []
    for size in (1, 2, 5, 9):
        similarity = torch.randn(size, size, generator=generator, dtype=torch.float64)
        negatives = torch.rand(size, size, generator=generator) > 0.4
        cases += [(similarity, negatives & negatives.T), (similarity, torch.ones(size, size, dtype=torch.bool))]
    return cases


def _value_and_gradient(compute: Callable[[Tensor], Tensor], similarity: Tensor) -> tuple[Tensor, Tensor]:
    leaf = similarity.clone().requires_grad_()
    value = compute(leaf)
    (gradient,) = torch.autograd.grad(value + 0 * leaf.sum(), leaf)
    return value.detach(), gradient


@pytest.mark.parametrize("which", ["hardest", "all"])
@pytest.mark.parametrize(("similarity", "negatives"), _cases())
def test_triplets_and_their_gradients_equal_loops(similarity: Tensor, negatives: Tensor, which: str) -> None:
    loss = hardest_negative_triplet if which == "hardest" else all_negatives_triplet
    computed = _value_and_gradient(lambda s: loss(s, 0.3, negatives), similarity)
    expected = _value_and_gradient(lambda s: slow_dual.triplet(s, 0.3, negatives, which), similarity)
    torch.testing.assert_close(computed, expected, rtol=0, atol=1e-12)


def test_the_diagonal_is_no_negative_whatever_the_mask_says() -> None:
    similarity = torch.eye(3) * 5
    assert float(hardest_negative_triplet(similarity, 0.2, torch.eye(3, dtype=torch.bool))) == 0
    assert float(all_negatives_triplet(similarity, 0.2)) == 0
