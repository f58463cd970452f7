"""Carried on, primary activations reach the secondary ones, and begin as most of what tells clips apart."""

import pytest
import torch

from tests.builders.clip_batches import INPUTS
from vtr_core.config.data_sets import WordEncoderConfig
from vtr_core.config.towers import SelfAttentionRouting
from vtr_core.nn.capsules.dynamic_routing import Capsules
from vtr_core.nn.capsules.routing import SelfAttention
from vtr_core.run.build import build_model
from vtr_core.systems.capsules.config import CapsuleNetConfig
from vtr_core.systems.capsules.model import SHARED, CapsuleNet


def _routing(carried: float) -> SelfAttention:
    config = CapsuleNetConfig(
        inputs=INPUTS,
        num_capsules=64,
        primary_dim=8,
        routing=SelfAttentionRouting(pose_dim=32, mlp_dim=64, carried_presence=carried),
        words=WordEncoderConfig(hidden_dim=12),
        embedding_dim=16,
    )
    torch.manual_seed(0)
    model = build_model(config).eval()
    assert isinstance(model, CapsuleNet)
    routing = model.routing[SHARED]
    assert isinstance(routing, SelfAttention)
    return routing


def _given() -> Capsules:
    return Capsules(torch.randn(200, 64, 8), torch.randn(200, 64).sigmoid())


@pytest.mark.parametrize("carried", [0.0, 2.0])
def test_logits_deviate_by_about_1_at_the_start(carried: float) -> None:
    logits = _routing(carried)(_given()).activations.log()
    assert 0.7 < float(logits.detach().std(dim=1).mean()) < 1.4


def test_secondary_activations_follow_the_primary_ones() -> None:
    given = _given()
    with_it, without = (_correlation(given, _routing(carried)) for carried in (2.0, 0.0))
    assert with_it > 0.9
    assert abs(without) < 0.3


def _correlation(given: Capsules, routing: SelfAttention) -> float:
    """Of log p and log p̂, over the clips and capsules."""
    both = torch.stack([given.activations.log(), routing(given).activations.log().detach()]).flatten(1)
    return float(torch.corrcoef(both)[0, 1])


def test_a_capsule_that_is_not_there_at_all_has_a_gradient() -> None:
    activations = torch.tensor([[0.0, 1.0, 0.5]]).expand(2, 3).clone().requires_grad_()
    routing = SelfAttention(4, SelfAttentionRouting(pose_dim=8, mlp_dim=8, carried_presence=2.0)).eval()
    found = routing(Capsules(torch.randn(2, 3, 4), activations)).activations
    found[:, 1].sum().backward()
    assert activations.grad is not None
    assert torch.isfinite(activations.grad).all()
    assert (found[:, 0] < 1e-6).all()
