"""Routings of capsules against slow code, and what keeps them stable."""

import itertools

import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from tests.reference import capsules, routing
from tests.reference import siamese as slow_siamese
from vtr_core.config.towers import DynamicRouting, EmRouting, NoRouting, SelfAttentionRouting, SetTransformerRouting
from vtr_core.errors import ConfigError
from vtr_core.nn.capsules import dynamic_routing as dynamic
from vtr_core.nn.capsules.dynamic_routing import CapsuleProjection, Capsules, Dynamic, PrimaryCapsules, agree, squash
from vtr_core.nn.capsules.em_routing import Em, maximisation, responsibilities
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
    "em, as published": (EmRouting(pose_dim=DIM, components="sum"), routing.em),
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


def test_em_of_earlier_checkpoints_is_read_where_it_is_the_same():
    """`density` "mean" is `components` "mean"; the sum was that of the density alone."""
    assert EmRouting(pose_dim=DIM, density="mean").components == "mean"
    with pytest.raises(ValueError, match="density"):
        EmRouting(pose_dim=DIM, density="sum")


def test_squash_equals_slow_code():
    torch.manual_seed(0)
    vectors = torch.randn(6, 4, dtype=torch.float64) * torch.logspace(-3, 3, 6, dtype=torch.float64)[:, None]
    for squashed, vector in zip(squash(vectors), vectors, strict=True):
        torch.testing.assert_close(squashed, routing.squash(vector), atol=1e-9, rtol=1e-6)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_squash_of_nothing_is_nothing_with_a_finite_gradient(dtype):
    vector = torch.zeros(3, dtype=dtype, requires_grad=True)
    squash(vector).sum().backward()
    assert (squash(vector) == 0).all()
    assert vector.grad.isfinite().all()


@pytest.mark.parametrize("num_iterations", [1, 3])
def test_recomputed_votes_change_no_gradient_and_are_not_kept(num_iterations):
    """Numbers that autograd holds between the passes, weights apart; the votes are batch × capsules² × pose_dim."""
    batch, capsules, primary, pose = 5, 6, 3, 4
    torch.manual_seed(0)
    poses = torch.randn(batch, capsules, primary, dtype=torch.float64)
    activations = torch.rand(batch, capsules, dtype=torch.float64)
    given = torch.randn(batch, capsules, pose, dtype=torch.float64)
    results, held = [], []
    for recompute in (False, True):
        config = DynamicRouting(pose_dim=pose, num_iterations=num_iterations, recompute=recompute)
        torch.manual_seed(1)
        module = Dynamic(capsules, primary, config).double()
        weights = {weight.data_ptr() for weight in module.parameters()}
        kept: dict[int, int] = {}

        def keep(tensor, weights=weights, kept=kept):
            storage = tensor.untyped_storage()
            if storage.data_ptr() not in weights:
                kept[storage.data_ptr()] = storage.nbytes() // 8
            return tensor

        leaf = poses.clone().requires_grad_()
        with torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor):
            routed = module(Capsules(leaf, activations)).poses
        (routed * given).sum().backward()
        results.append([routed.detach(), leaf.grad, module.weight.grad])
        held.append(sum(kept.values()))
    for recomputed, plain in zip(results[1], results[0], strict=True):
        torch.testing.assert_close(recomputed, plain, rtol=1e-12, atol=1e-14)
    votes = batch * capsules**2 * pose
    assert held[0] > votes
    assert held[0] - held[1] >= votes
    assert held[1] < votes


class Largest(TorchDispatchMode):
    """The number of values of the largest tensor that any operator makes."""

    def __init__(self):
        super().__init__()
        self.values = 0

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        result = func(*args, **(kwargs or {}))
        if isinstance(result, torch.Tensor):
            self.values = max(self.values, result.numel())
        return result


def test_votes_of_some_rows_at_a_time_change_no_gradient(monkeypatch):
    batch, capsules, primary, pose = 7, 6, 3, 4
    torch.manual_seed(0)
    module = Dynamic(capsules, primary, DynamicRouting(pose_dim=pose, recompute=True)).double()
    poses = torch.randn(batch, capsules, primary, dtype=torch.float64)
    activations = torch.rand(batch, capsules, dtype=torch.float64)
    results, largest = [], []
    for votes in (dynamic._VOTES, 3 * capsules**2 * pose):
        monkeypatch.setattr(dynamic, "_VOTES", votes)
        module.zero_grad()
        leaf = poses.clone().requires_grad_()
        with Largest() as seen:
            routed = module(Capsules(leaf, activations)).poses
            routed.square().sum().backward()
        results.append([routed.detach(), leaf.grad, module.weight.grad])
        largest.append(seen.values)
    for pieces, whole in zip(results[1], results[0], strict=True):
        torch.testing.assert_close(pieces, whole, rtol=1e-12, atol=1e-14)
    assert largest[1] * batch == largest[0] * 3, "memory grows with the rows that are held at once"


def test_responsibilities_are_constants_for_the_gradient():
    torch.manual_seed(0)
    module = Em(3, 4, EmRouting(pose_dim=4)).double()
    activations = torch.rand(2, 3, dtype=torch.float64)
    poses = torch.randn(2, 3, 4, dtype=torch.float64, requires_grad=True)
    module(Capsules(poses, activations)).poses.sum().backward()
    again = poses.detach().clone().requires_grad_()
    votes = torch.einsum("bist,ijtu->bjisu", again.unflatten(2, (2, 2)), module.weight).flatten(3)
    assigned = torch.full((2, 3, 3), 1 / 3, dtype=torch.float64)
    with torch.no_grad():
        for round_ in (1, 2):
            costs = (module.variance_cost, module.activation_cost)
            assigned = responsibilities(votes, maximisation(votes, assigned, activations, *costs, round_ / 3))
    shares = assigned * activations.unsqueeze(1)
    shares = shares / (shares.sum(dim=2, keepdim=True) + 1e-6)
    torch.einsum("bji,bjid->bjd", shares, votes).sum().backward()
    torch.testing.assert_close(poses.grad, again.grad)


CASES = list(itertools.product((1, 2, 4), ("tanh", "squash"), ("outputs", "inputs"), (1.0, 0.25)))


@pytest.mark.parametrize(("iterations", "nonlinearity", "couplings", "scale"), CASES)
def test_poses_and_gradient_equal_slow_code(iterations, nonlinearity, couplings, scale):
    torch.manual_seed(0)
    votes = torch.randn(2, 3, 5, 4, dtype=torch.float64, requires_grad=True)
    expected = torch.stack(
        [slow_siamese.agree(v, iterations, nonlinearity, couplings == "outputs", scale) for v in votes]
    )
    found = agree(votes, iterations, nonlinearity, couplings, scale)
    torch.testing.assert_close(found, expected, atol=1e-9, rtol=1e-7)
    weights = torch.randn_like(expected)
    (slow,) = torch.autograd.grad((expected * weights).sum(), votes)
    (fast,) = torch.autograd.grad((found * weights).sum(), votes)
    torch.testing.assert_close(fast, slow, atol=1e-8, rtol=1e-6)


COUNT, PRIMARY_DIM = 5, 3


@pytest.fixture(autouse=True)
def _seed():
    torch.manual_seed(0)


def test_primary_capsules_equal_slow_code():
    module, features = PrimaryCapsules(7, COUNT, PRIMARY_DIM).double(), torch.randn(4, 7, dtype=torch.float64)
    primary = module(features)
    for row in range(4):
        poses, activations = capsules.primary(module, features[row], PRIMARY_DIM)
        torch.testing.assert_close(primary.poses[row], torch.stack(poses), atol=1e-9, rtol=0)
        torch.testing.assert_close(primary.activations[row], torch.stack(activations), atol=1e-9, rtol=0)


@pytest.mark.parametrize("scale", ["none", "num_capsules"])
def test_projection_equals_slow_code(scale):
    module = CapsuleProjection(COUNT, PRIMARY_DIM, 6, scale).double()
    given = Capsules(
        torch.randn(4, COUNT, PRIMARY_DIM, dtype=torch.float64),
        torch.rand(4, COUNT, dtype=torch.float64),
    )
    projected = module(given)
    assert module.scale == {"none": 1, "num_capsules": COUNT}[scale]
    for row in range(4):
        expected = capsules.project(module, given.poses[row], given.activations[row])
        torch.testing.assert_close(projected[row], expected, atol=1e-9, rtol=0)
