"""The terms of a block against the whole matrix, and their gradients against finite differences."""

import pytest
import torch
from torch.autograd import gradcheck

from vtr_core.losses.contrastive import binary_terms, cross_entropies, mean_hinges
from vtr_core.losses.mil_nce import bag_terms
from vtr_core.losses.objective import both_blocks, is_match, log_weights
from vtr_core.nn.precision import product

FIRST, ROWS, ITEMS, BAG = 2, 3, 6, 2


def _draw(*shape, seed=0):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def _weights():
    weights = 2 * torch.rand(ROWS, ITEMS, generator=torch.Generator().manual_seed(9), dtype=torch.float64)
    weights[0, 0] = weights[1, 5] = 0
    return weights


def test_blocks_are_rows_and_columns_of_the_similarity():
    a, b = _draw(ITEMS, 4), _draw(ITEMS, 4, seed=1)
    similarity = a @ b.T
    for block in (slice(0, ITEMS), slice(2, 5), slice(5, 6)):
        rows, columns = both_blocks(a, b, block, product("float32"))
        torch.testing.assert_close(rows, similarity[block])
        torch.testing.assert_close(columns, similarity[:, block].T)


def test_matches_lie_on_the_diagonal_of_the_whole():
    expected = torch.eye(ITEMS, dtype=torch.bool)[FIRST : FIRST + ROWS]
    assert torch.equal(is_match(_weights(), FIRST), expected)
    logarithms = log_weights(_weights(), FIRST)
    assert torch.equal(logarithms, torch.where(expected, 0, _weights().log()))
    assert logarithms[0, 0] == -torch.inf


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


def test_a_match_counts_one_whatever_its_weight():
    similarity, weights, other = _draw(ROWS, ITEMS), _weights(), _weights()
    other[is_match(other, FIRST)] = 0
    bags = similarity.unsqueeze(2)
    for terms in (
        lambda w: cross_entropies(similarity, w, FIRST),
        lambda w: binary_terms(similarity, w, FIRST),
        lambda w: bag_terms(bags, bags, w, w, FIRST),
    ):
        assert torch.equal(terms(weights), terms(other))
    # A hinge is never 0 at its match, which takes no gradient: there the weight counts, as in the published code.
    assert not torch.equal(mean_hinges(similarity, weights, FIRST, 0.2), mean_hinges(similarity, other, FIRST, 0.2))
