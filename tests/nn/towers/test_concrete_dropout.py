"""Concrete dropout of capsules: masks, rates, penalties."""

import math

import pytest
import torch

from tests.reference import siamese as reference
from vtr_core.config.towers import ConcreteDropout
from vtr_core.nn.capsules.capsule_tower import CapsuleDropout, binary_entropy, relaxed_mask


def test_the_mask_by_its_formula():
    logit, uniform = torch.tensor([0.4]), torch.tensor([[0.3]])
    noise = math.log(0.3 / 0.7)
    sigmoid = lambda x: 1 / (1 + math.exp(-x))  # noqa: E731
    ours = relaxed_mask(logit, uniform, ConcreteDropout(temperature=0.5))
    paper = relaxed_mask(logit, uniform, ConcreteDropout(temperature=0.5, compat="paper"))
    assert float(ours) == pytest.approx(sigmoid((0.4 + noise) / 0.5), rel=1e-5)
    assert float(paper) == pytest.approx(sigmoid(0.4 / 0.5 + noise), rel=1e-5)


@pytest.mark.parametrize(("compat", "sign"), [("none", -1), ("paper", 1)])
def test_penalty(compat, sign):
    config = ConcreteDropout(initial_rate=0.25, weight_penalty=0.1, entropy_penalty=0.5, compat=compat)
    dropout, weight = CapsuleDropout(2, config), torch.randn(3, 8)
    expected = sum(
        0.1 * float(weight[:, 4 * c : 4 * c + 4].square().sum()) / 0.75 + sign * 0.5 * reference.entropy(0.25)
        for c in range(2)
    )
    assert float(dropout.penalty(weight)) == pytest.approx(expected, rel=1e-5)


def test_rates_learn_and_stay_finite():
    dropout = CapsuleDropout(2, ConcreteDropout())
    (dropout(torch.randn(5, 2, 3)).sum() + dropout.penalty(torch.randn(4, 6))).backward()
    assert torch.isfinite(dropout.logit.grad).all()
    assert (dropout.logit.grad != 0).all()
    assert torch.isfinite(binary_entropy(torch.tensor([-200.0, 0.0, 200.0]))).all()
    assert torch.isfinite(relaxed_mask(torch.zeros(1), torch.tensor([[0.0], [1.0]]), ConcreteDropout())).all()
