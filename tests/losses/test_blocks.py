"""The terms of a block against the whole matrix, and their gradients against finite differences."""

import pytest
import torch
from torch.autograd import gradcheck

from vtr_core.losses.contrastive import bag_terms, binary_terms, cross_entropies, mean_hinges

FIRST, ROWS, ITEMS, BAG = 2, 3, 6, 2


def _draw(*shape, seed=0):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def _weights():
    weights = 2 * torch.rand(ROWS, ITEMS, generator=torch.Generator().manual_seed(9), dtype=torch.float64)
    weights[0, 0] = weights[1, 5] = 0
    return weights


@pytest.mark.parametrize(
    "terms",
    [
        lambda s: cross_entropies(s, _weights(), FIRST, _draw(ROWS, seed=3)),
        lambda s: mean_hinges(s, _weights(), FIRST, 0.2),
        lambda s: binary_terms(s, _weights(), FIRST),
    ],
)
def test_gradients_equal_finite_differences(terms):
    assert gradcheck(terms, (_draw(ROWS, ITEMS).requires_grad_(),))


def test_gradients_of_bags_equal_finite_differences():
    def terms(rows, columns):
        weights = _weights()
        return bag_terms(rows, columns, weights, weights.flip(1), FIRST)

    assert gradcheck(terms, tuple(_draw(ROWS, ITEMS, BAG, seed=seed).requires_grad_() for seed in (0, 1)))
