import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from tests.reference import routing as reference
from vtr_core.config.towers import DynamicRouting
from vtr_core.nn.capsules import dynamic_routing as dynamic
from vtr_core.nn.capsules.dynamic_routing import Capsules, Dynamic, squash


def test_squash_equals_slow_code():
    torch.manual_seed(0)
    vectors = torch.randn(6, 4, dtype=torch.float64) * torch.logspace(-3, 3, 6, dtype=torch.float64)[:, None]
    for squashed, vector in zip(squash(vectors), vectors, strict=True):
        torch.testing.assert_close(squashed, reference.squash(vector), atol=1e-9, rtol=1e-6)


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
