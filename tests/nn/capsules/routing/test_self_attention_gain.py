"""The initial gain sets how much the capsules' activations differ before anything is learned."""

import torch

from vtr_core.config.towers import SelfAttentionRouting
from vtr_core.nn.capsules.dynamic_routing import Capsules
from vtr_core.nn.capsules.routing import SelfAttention


def spread(gain: float) -> float:
    """The standard deviation over capsules of an activation, relative to its mean 1/C."""
    torch.manual_seed(0)
    routing = SelfAttention(16, SelfAttentionRouting(pose_dim=32, mlp_dim=64, initial_gain=gain)).eval()
    capsules = Capsules(poses=torch.randn(50, 24, 16), activations=torch.rand(50, 24))
    return float(routing(capsules).activations.detach().std(dim=1).mean() * 24)


def test_a_greater_gain_tells_capsules_apart() -> None:
    assert spread(1.0) < 0.1
    assert spread(3.0) > 5 * spread(1.0)


def test_the_default_is_torchs_own_initialisation() -> None:
    torch.manual_seed(0)
    routing = SelfAttention(16, SelfAttentionRouting(pose_dim=32, mlp_dim=64))
    torch.manual_seed(0)
    assert torch.equal(routing.query[0].weight, torch.nn.Linear(16, 32).weight)
