import pytest
import torch

from tests.reference import routing as reference
from vtr_core.config.blocks.routing import DynamicRouting
from vtr_core.nn.capsules.agreement import squash
from vtr_core.nn.capsules.capsules import Capsules
from vtr_core.nn.capsules.routing.dynamic import Dynamic


def test_squash_equals_slow_code():
    torch.manual_seed(0)
    vectors = torch.randn(6, 4, dtype=torch.float64) * torch.logspace(-3, 3, 6, dtype=torch.float64)[:, None]
    for squashed, vector in zip(squash(vectors), vectors, strict=True):
        torch.testing.assert_close(squashed, reference.squash(vector), atol=1e-9, rtol=1e-6)


def test_squash_keeps_lengths_below_one():
    lengths = squash(torch.tensor([[1e-3, 0.0], [1.0, 0.0], [1e4, 0.0]])).norm(dim=1)
    torch.testing.assert_close(lengths, torch.tensor([1e-6, 0.5, 1.0]), atol=1e-7, rtol=1e-3)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_squash_of_nothing_is_nothing_with_a_finite_gradient(dtype):
    vector = torch.zeros(3, dtype=dtype, requires_grad=True)
    squash(vector).sum().backward()
    assert (squash(vector) == 0).all()
    assert vector.grad.isfinite().all()


def test_gradients_flow_through_every_round():
    torch.manual_seed(0)
    module = Dynamic(3, 2, DynamicRouting(pose_dim=4)).double()
    activations = torch.rand(1, 3, dtype=torch.float64)
    poses = torch.randn(1, 3, 2, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(lambda x: module(Capsules(x, activations)).poses, poses)


def test_votes_that_agree_are_coupled_more():
    """Capsules 0 and 1 vote alike for secondary capsule 0, capsule 2 for the opposite of what they do."""
    module = Dynamic(3, 2, DynamicRouting(pose_dim=2, num_iterations=3)).double()
    with torch.no_grad():
        module.weight.zero_()
        for capsule, sign in enumerate((1.0, 1.0, -1.0)):
            module.weight[capsule, 0] = sign * torch.eye(2)
    pose = torch.tensor([2.0, 0.0], dtype=torch.float64)
    given = Capsules(pose.expand(1, 3, 2), torch.ones(1, 3, dtype=torch.float64))
    once = Dynamic(3, 2, DynamicRouting(pose_dim=2, num_iterations=1)).double()
    once.load_state_dict(module.state_dict())
    assert module(given).poses[0, 0, 0] > once(given).poses[0, 0, 0] > 0
