"""The benchmark of face routing compares what gives the same."""

import torch

from benchmarks.routing import faces as face_routing
from benchmarks.routing.faces import compare_faces, faces_markdown, straightforward
from vtr_core.nn.capsules.capsule_tower import RoutedCapsules


def test_both_ways_give_the_same_poses_and_gradients():
    torch.manual_seed(0)
    layer = RoutedCapsules(6, 3, 4, 5, 4, "tanh", "outputs")
    with torch.no_grad():
        layer.weight.mul_(10)
    poses = torch.randn(2, 6, 3).requires_grad_()
    found, slow = layer(poses), straightforward(layer, poses)
    torch.testing.assert_close(found, slow)
    for one, other in zip(
        torch.autograd.grad(found.square().sum(), [poses, layer.weight]),
        torch.autograd.grad(slow.square().sum(), [poses, layer.weight]),
        strict=True,
    ):
        torch.testing.assert_close(one, other, atol=1e-5, rtol=1e-4)


def test_the_page_has_every_size(monkeypatch):
    monkeypatch.setattr(face_routing, "PLACES", {"33 x 33": (9, 1)})
    figures = {**compare_faces(rows=1, repeats=1), "repeats": 1, "device": "made", "command": "python"}
    page = faces_markdown(figures)
    assert "| 33 x 33 |" in page
    assert figures["sizes"]["33 x 33"]["seconds"]["routing"] > 0
