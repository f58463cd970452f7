import pytest
import torch

from tests.reference import capsules as reference
from vtr_core.config.model import NoRouting, SelfAttentionRouting
from vtr_core.errors import ConfigError
from vtr_core.nn.capsules.capsules import Capsules
from vtr_core.nn.capsules.primary import PrimaryCapsules
from vtr_core.nn.capsules.projection import CapsuleProjection
from vtr_core.nn.capsules.routing.build import build_routing

NUM_CAPSULES, PRIMARY_DIM, POSE_DIM = 5, 3, 8
ROUTINGS = {
    "one head": (SelfAttentionRouting(pose_dim=POSE_DIM, mlp_dim=16), reference.self_attention),
    "four heads": (SelfAttentionRouting(pose_dim=POSE_DIM, mlp_dim=16, num_heads=4), reference.self_attention),
    "none": (NoRouting(pose_dim=POSE_DIM, mlp_dim=16), reference.unrouted),
}


@pytest.fixture(autouse=True)
def _seed():
    torch.manual_seed(0)


def _capsules(rows=4):
    return Capsules(
        torch.randn(rows, NUM_CAPSULES, PRIMARY_DIM, dtype=torch.float64),
        torch.rand(rows, NUM_CAPSULES, dtype=torch.float64),
    )


def test_primary_capsules_equal_slow_code():
    module, features = PrimaryCapsules(7, NUM_CAPSULES, PRIMARY_DIM).double(), torch.randn(4, 7, dtype=torch.float64)
    capsules = module(features)
    for row in range(4):
        poses, activations = reference.primary(module, features[row], PRIMARY_DIM)
        torch.testing.assert_close(capsules.poses[row], torch.stack(poses), atol=1e-9, rtol=0)
        torch.testing.assert_close(capsules.activations[row], torch.stack(activations), atol=1e-9, rtol=0)


@pytest.mark.parametrize("name", list(ROUTINGS))
def test_routing_equals_slow_code(name):
    config, slow = ROUTINGS[name]
    module, capsules = build_routing(PRIMARY_DIM, config).double().eval(), _capsules()
    routed = module(capsules)
    for row in range(4):
        poses, activations = slow(module, capsules.poses[row], capsules.activations[row])
        torch.testing.assert_close(routed.poses[row], torch.stack(poses), atol=1e-9, rtol=0)
        torch.testing.assert_close(routed.activations[row], torch.stack(activations), atol=1e-9, rtol=0)


@pytest.mark.parametrize("name", list(ROUTINGS))
def test_activations_are_probabilities_over_the_capsules(name):
    activations = build_routing(PRIMARY_DIM, ROUTINGS[name][0]).double()(_capsules()).activations
    assert (activations >= 0).all()
    torch.testing.assert_close(activations.sum(dim=1), torch.ones(4, dtype=torch.float64))


@pytest.mark.parametrize("name", list(ROUTINGS))
def test_routing_follows_a_permutation_of_the_capsules(name):
    module, capsules = build_routing(PRIMARY_DIM, ROUTINGS[name][0]).double().eval(), _capsules()
    order = torch.tensor([3, 1, 4, 0, 2])
    straight, permuted = module(capsules), module(Capsules(capsules.poses[:, order], capsules.activations[:, order]))
    torch.testing.assert_close(permuted.poses, straight.poses[:, order])
    torch.testing.assert_close(permuted.activations, straight.activations[:, order])


def test_only_self_attention_lets_capsules_hear_each_other():
    capsules = _capsules()
    changed = capsules.poses.clone()
    changed[:, 0] += 1
    for name, (config, _) in ROUTINGS.items():
        module = build_routing(PRIMARY_DIM, config).double().eval()
        others = module(capsules).poses[:, 1:]
        others_changed = module(Capsules(changed, capsules.activations)).poses[:, 1:]
        assert torch.equal(others, others_changed) == (name == "none")


def test_a_capsule_that_is_not_active_does_not_enter_the_routing():
    capsules = _capsules()
    capsules.activations[:, 2] = 0
    changed = capsules.poses.clone()
    changed[:, 2] = 100
    for config, _ in ROUTINGS.values():
        module = build_routing(PRIMARY_DIM, config).double().eval()
        assert torch.equal(module(capsules).poses, module(Capsules(changed, capsules.activations)).poses)


@pytest.mark.parametrize("scale", ["none", "num_capsules"])
def test_projection_equals_slow_code(scale):
    module, capsules = CapsuleProjection(NUM_CAPSULES, PRIMARY_DIM, 6, scale).double(), _capsules()
    projected = module(capsules)
    assert module.scale == {"none": 1, "num_capsules": NUM_CAPSULES}[scale]
    for row in range(4):
        expected = reference.project(module, capsules.poses[row], capsules.activations[row])
        torch.testing.assert_close(projected[row], expected, atol=1e-9, rtol=0)


def test_heads_must_divide_the_pose():
    with pytest.raises(ConfigError, match="pose_dim = 8 is not a multiple of num_heads = 3"):
        build_routing(PRIMARY_DIM, SelfAttentionRouting(pose_dim=8, num_heads=3))
