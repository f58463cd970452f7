"""The pairs of a batch: slow code, weights, shares that add up."""

import pytest
import torch

from tests.reference import siamese as reference
from vtr_core.losses.objective import Share
from vtr_core.systems.siamese.config import PairContrastiveConfig, PairDoubleMarginConfig
from vtr_core.systems.siamese.model import PairObjective, pair_kinds, pair_weights

IMAGES, SUBJECTS = [1, 2, 2, 3, 4, 5], [7, 7, 7, 8, 8, 9]


def batch():
    torch.manual_seed(0)
    vectors = torch.nn.functional.normalize(torch.randn(6, 4, dtype=torch.float64)).requires_grad_()
    return vectors, torch.tensor(IMAGES), torch.tensor(SUBJECTS)


def test_slow_code():
    vectors, images, subjects = batch()
    found = PairObjective(PairContrastiveConfig(margin=1.5))(vectors, images, subjects).total
    expected = reference.batch_loss(vectors, IMAGES, SUBJECTS, 1.5)
    torch.testing.assert_close(found, expected)
    (fast,) = torch.autograd.grad(found, vectors)
    (slow,) = torch.autograd.grad(expected, vectors)
    torch.testing.assert_close(fast, slow)


@pytest.mark.parametrize("config", [PairContrastiveConfig(pairs="hardest"), PairDoubleMarginConfig(pairs="all")])
@pytest.mark.parametrize("distance", ["euclidean", "manhattan", "cosine"])
def test_shares_add_up(config, distance):
    vectors, images, subjects = batch()
    objective = PairObjective(config.model_copy(update={"distance": distance}))
    whole = objective(vectors, images, subjects)
    parts = [objective(vectors, images, subjects, Share(rank, 4)) for rank in range(4)]
    torch.testing.assert_close(sum(part.total for part in parts), whole.total)
    assert parts[0].metrics == whole.metrics


def test_an_image_makes_no_pair_with_itself():
    kinds = pair_kinds(torch.tensor(IMAGES), torch.tensor(SUBJECTS))
    assert kinds.matching.nonzero().tolist() == [[0, 1], [0, 2], [3, 4]]
    assert int(kinds.different.sum()) == 15 - 3 - 1


@pytest.mark.parametrize(("policy", "matching", "different"), [("balanced", 0.5, 0.5), ("hardest", 0.5, 0.5)])
def test_both_kinds_weigh_the_same(policy, matching, different):
    kinds = pair_kinds(torch.tensor(IMAGES), torch.tensor(SUBJECTS))
    weights = pair_weights(kinds, torch.rand(6, 6), policy)
    assert float(weights[kinds.matching].sum()) == pytest.approx(matching)
    assert float(weights[kinds.different].sum()) == pytest.approx(different)


def test_hardest_takes_the_nearest_different_pairs():
    kinds = pair_kinds(torch.tensor(IMAGES), torch.tensor(SUBJECTS))
    distance = torch.rand(6, 6)
    weights = pair_weights(kinds, distance, "hardest")
    chosen = set(distance[kinds.different & (weights > 0)].tolist())
    assert chosen == set(sorted(distance[kinds.different].tolist())[:3])


def test_a_batch_of_one_kind_has_all_the_weight_there_and_without_pairs_the_loss_is_0():
    one = pair_kinds(torch.tensor([1, 2]), torch.tensor([5, 5]))
    assert float(pair_weights(one, torch.rand(2, 2), "balanced").sum()) == pytest.approx(1)
    vectors = torch.randn(1, 4, requires_grad=True)
    loss = PairObjective(PairContrastiveConfig())(vectors, torch.tensor([1]), torch.tensor([1])).total
    loss.backward()
    assert float(loss) == 0
    assert vectors.grad.eq(0).all()
