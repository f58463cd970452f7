"""What every routing has in common, and where they differ."""

import pytest
import torch

from tests.reference import capsules, routing
from vtr_core.config.towers import (
    DynamicRouting,
    EmRouting,
    NoRouting,
    SelfAttentionRouting,
    SetTransformerRouting,
)
from vtr_core.errors import ConfigError
from vtr_core.nn.capsules.dynamic_routing import Capsules
from vtr_core.nn.capsules.routing import build_routing

NUM_CAPSULES, DIM, POSE_DIM, ROWS = 5, 4, 8, 4
ONE_TO_ONE = {
    "self_attention": (SelfAttentionRouting(pose_dim=POSE_DIM, mlp_dim=16), capsules.self_attention),
    "self_attention, four heads": (
        SelfAttentionRouting(pose_dim=POSE_DIM, mlp_dim=16, num_heads=4),
        capsules.self_attention,
    ),
    "self_attention, presence carried": (
        SelfAttentionRouting(pose_dim=POSE_DIM, mlp_dim=16, carried_presence=2.0),
        capsules.self_attention,
    ),
    "none": (NoRouting(pose_dim=POSE_DIM, mlp_dim=16), capsules.unrouted),
    "none, presence carried": (NoRouting(pose_dim=POSE_DIM, mlp_dim=16, carried_presence=0.5), capsules.unrouted),
}
PAIRWISE = {
    "dynamic": (DynamicRouting(pose_dim=POSE_DIM), routing.dynamic),
    "dynamic, one round": (DynamicRouting(pose_dim=POSE_DIM, num_iterations=1), routing.dynamic),
    "dynamic, mean agreement": (DynamicRouting(pose_dim=POSE_DIM, agreement="mean"), routing.dynamic),
    "em": (EmRouting(pose_dim=DIM), routing.em),
    "em, one round": (EmRouting(pose_dim=DIM, num_iterations=1, inverse_temperature=0.5), routing.em),
    "em, mean density": (EmRouting(pose_dim=DIM, density="mean"), routing.em),
    "em, five rounds": (EmRouting(pose_dim=DIM, num_iterations=5, inverse_temperature=3.0), routing.em),
}
SEEDED = {
    "set_transformer": (SetTransformerRouting(pose_dim=POSE_DIM), routing.set_transformer),
    "set_transformer, two heads": (SetTransformerRouting(pose_dim=POSE_DIM, num_heads=2), routing.set_transformer),
}
ALL = {**ONE_TO_ONE, **PAIRWISE, **SEEDED}


def _module(name):
    """In evaluation mode, in float64, and with every parameter away from its special starting value."""
    torch.manual_seed(0)
    module = build_routing(NUM_CAPSULES, DIM, ALL[name][0]).double().eval()
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.add_(0.3 * torch.randn_like(parameter))
    return module


def _capsules(rows=ROWS, dtype=torch.float64):
    generator = torch.Generator().manual_seed(1)
    return Capsules(
        torch.randn(rows, NUM_CAPSULES, DIM, generator=generator, dtype=dtype),
        torch.rand(rows, NUM_CAPSULES, generator=generator, dtype=dtype),
    )


@pytest.mark.parametrize("name", list(ALL))
def test_it_equals_slow_code(name):
    module, given = _module(name), _capsules()
    routed = module(given)
    for row in range(ROWS):
        poses, activations = ALL[name][1](module, given.poses[row], given.activations[row])
        torch.testing.assert_close(routed.poses[row], torch.stack(poses), atol=1e-9, rtol=0)
        torch.testing.assert_close(routed.activations[row], torch.stack(activations), atol=1e-9, rtol=0)


@pytest.mark.parametrize("name", list(ALL))
def test_rows_do_not_influence_each_other(name):
    module, given = _module(name), _capsules()
    alone = module(Capsules(given.poses[1:2], given.activations[1:2]))
    torch.testing.assert_close(alone.poses[0], module(given).poses[1])
    assert module(Capsules(given.poses[:0], given.activations[:0])).poses.shape[0] == 0


@pytest.mark.parametrize("name", list(ALL))
@pytest.mark.parametrize("scale", [0.0, 1e-20, 1.0, 1e3, 1e5])
@pytest.mark.parametrize("active", [0.0, 1e-30, 1.0])
def test_values_and_gradients_are_finite_for_any_input(name, scale, active):
    """Features are float16, so no pose comes from values beyond 65,504."""
    module, given = _module(name).float(), _capsules(dtype=torch.float32)
    poses = (scale * given.poses).requires_grad_()
    activations = (active * given.activations).requires_grad_()
    routed = module(Capsules(poses, activations))
    assert routed.poses.isfinite().all()
    assert routed.activations.isfinite().all()
    (routed.poses.sum() + routed.activations.square().sum()).backward()
    for gradient in (poses.grad, activations.grad, *(parameter.grad for parameter in module.parameters())):
        assert gradient is not None
        assert gradient.isfinite().all()


@pytest.mark.parametrize("name", list(ALL))
def test_it_runs_under_autocast_with_gradients(name):
    module, given = _module(name).float(), _capsules(dtype=torch.float32)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        half = module(Capsules(given.poses.bfloat16(), given.activations.bfloat16()))
        (half.poses.float().sum() + half.activations.float().sum()).backward()
    assert half.poses.isfinite().all()
    assert all(parameter.grad.isfinite().all() for parameter in module.parameters())


@pytest.mark.parametrize(
    "config",
    [
        SelfAttentionRouting(pose_dim=8, num_heads=3),
        SetTransformerRouting(pose_dim=8, num_heads=3),
    ],
)
def test_heads_must_divide_the_pose(config):
    with pytest.raises(ConfigError, match=r"model\.routing\.pose_dim = 8 is not a multiple of num_heads = 3"):
        build_routing(NUM_CAPSULES, DIM, config)


@pytest.mark.parametrize(("primary_dim", "pose_dim"), [(4, 9), (9, 4), (8, 8), (3, 4)])
def test_em_needs_square_matrices_of_one_size(primary_dim, pose_dim):
    with pytest.raises(ConfigError, match=rf"{primary_dim} and .* = {pose_dim}: .* same square number"):
        build_routing(NUM_CAPSULES, primary_dim, EmRouting(pose_dim=pose_dim))


@pytest.mark.parametrize("num_capsules", [64, 128])
@pytest.mark.parametrize("config", [DynamicRouting(), EmRouting(num_iterations=1)])
def test_many_capsules_do_not_make_fresh_poses_vanish(config, num_capsules):
    """Before any preference each is the mean of C votes; its deviation is about that of the input all the same."""
    torch.manual_seed(0)
    module = build_routing(num_capsules, 16, config)
    given = Capsules(torch.randn(20, num_capsules, 16), torch.ones(20, num_capsules))
    spread = module(given).poses.std().item()
    if isinstance(config, DynamicRouting):  # squashed to a length below 1
        assert 0.5 / 16**0.5 < spread < 1 / 16**0.5
    else:
        assert spread == pytest.approx(1.0, abs=0.1)
