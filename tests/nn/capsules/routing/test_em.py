import torch

from vtr_core.config.towers import EmRouting
from vtr_core.nn.capsules.dynamic_routing import Capsules
from vtr_core.nn.capsules.em_routing import Em, maximisation, responsibilities


def test_hundreds_of_steps_stay_finite():
    """With a learning rate that is far too high and inputs of very different size."""
    torch.manual_seed(0)
    layer, module = torch.nn.Linear(6, 8 * 4), Em(8, 4, EmRouting(pose_dim=4))
    optimizer = torch.optim.Adam([*layer.parameters(), *module.parameters()], 0.1)
    for step in range(300):
        features = torch.randn(16, 6) * 10.0 ** (step % 4)
        poses = layer(features).unflatten(1, (8, 4))
        routed = module(Capsules(poses, poses[..., 0].sigmoid()))
        loss = (routed.poses * routed.activations.unsqueeze(-1) - 1).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        assert loss.isfinite()
        assert all(parameter.isfinite().all() for parameter in module.parameters())


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


def test_it_computes_in_float32_under_autocast():
    torch.manual_seed(0)
    module = Em(3, 4, EmRouting(pose_dim=4))
    given = Capsules(torch.randn(2, 3, 4), torch.rand(2, 3))
    with torch.autocast("cpu", dtype=torch.bfloat16):
        inside = module(given)
    assert torch.equal(inside.poses, module(given).poses)
    assert torch.equal(inside.activations, module(given).activations)
