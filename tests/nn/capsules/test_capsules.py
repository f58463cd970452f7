import pytest
import torch

from tests.reference import capsules as reference
from vtr_core.nn.capsules.dynamic_routing import CapsuleProjection, Capsules, PrimaryCapsules

NUM_CAPSULES, PRIMARY_DIM = 5, 3


@pytest.fixture(autouse=True)
def _seed():
    torch.manual_seed(0)


def test_primary_capsules_equal_slow_code():
    module, features = PrimaryCapsules(7, NUM_CAPSULES, PRIMARY_DIM).double(), torch.randn(4, 7, dtype=torch.float64)
    capsules = module(features)
    for row in range(4):
        poses, activations = reference.primary(module, features[row], PRIMARY_DIM)
        torch.testing.assert_close(capsules.poses[row], torch.stack(poses), atol=1e-9, rtol=0)
        torch.testing.assert_close(capsules.activations[row], torch.stack(activations), atol=1e-9, rtol=0)


@pytest.mark.parametrize("scale", ["none", "num_capsules"])
def test_projection_equals_slow_code(scale):
    module = CapsuleProjection(NUM_CAPSULES, PRIMARY_DIM, 6, scale).double()
    capsules = Capsules(
        torch.randn(4, NUM_CAPSULES, PRIMARY_DIM, dtype=torch.float64),
        torch.rand(4, NUM_CAPSULES, dtype=torch.float64),
    )
    projected = module(capsules)
    assert module.scale == {"none": 1, "num_capsules": NUM_CAPSULES}[scale]
    for row in range(4):
        expected = reference.project(module, capsules.poses[row], capsules.activations[row])
        torch.testing.assert_close(projected[row], expected, atol=1e-9, rtol=0)
