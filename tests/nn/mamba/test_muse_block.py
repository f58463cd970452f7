"""MUSE's block behind other models, and its example."""

import doctest

import torch
from torch import Tensor

import vtr_core.nn.mamba
from vtr_core.config.towers import MambaLearner
from vtr_core.nn.mamba.learners import GatedResidual, GatedResiduals
from vtr_core.nn.mamba.muse_block import MuseBlock

DIM, GRID = 8, 2
LEARNER = MambaLearner(layers=1, state=4)


def pooled(caption: Tensor, frames: Tensor, mask: Tensor) -> Tensor:
    """(captions, videos, dim): each caption's mean of each video's frames, weighted by their similarity."""
    scores = torch.einsum("cd,vfd->cvf", caption, frames).masked_fill(~mask, -torch.inf)
    return torch.einsum("cvf,vfd->cvd", scores.softmax(dim=2), frames)


def given() -> tuple[Tensor, Tensor, Tensor, Tensor]:
    torch.manual_seed(0)
    mask = torch.arange(4) < torch.tensor([[4], [2]])
    return torch.randn(3, DIM), torch.randn(2, 4, DIM), torch.randn(2, 4, GRID**2, DIM), mask


def test_a_model_that_pools_by_captions_takes_it() -> None:
    caption, frames, patches, mask = given()
    closed = MuseBlock(DIM, GRID, (1, 2), learner=LEARNER, initial_gate=0.0)
    before = pooled(caption, torch.where(mask.unsqueeze(2), frames, 0), mask)
    assert torch.equal(pooled(caption, closed(frames, patches, mask), mask), before)
    block = MuseBlock(DIM, GRID, (1, 2), learner=LEARNER)
    patches.requires_grad_()
    after = pooled(caption, block(frames, patches, mask), mask)
    assert not torch.allclose(after, before)
    after.square().sum().backward()
    assert patches.grad is not None
    assert torch.equal(patches.grad.abs().sum(dim=(2, 3)) > 0, mask)


def test_only_directions_of_frames_count() -> None:
    _, frames, _, mask = given()
    block = MuseBlock(DIM, None, learner=LEARNER)
    assert torch.allclose(block(3 * frames, None, mask), 3 * block(frames, None, mask), atol=1e-5)


def test_a_frame_of_zeros_has_a_finite_gradient() -> None:
    _, frames, _, mask = given()
    frames[0, 1] = 0
    frames.requires_grad_()
    found = MuseBlock(DIM, None, learner=LEARNER)(frames, None, mask)
    assert not found[0, 1].any()
    found.sum().backward()
    assert frames.grad is not None
    assert torch.isfinite(frames.grad).all()
    assert frames.grad[0, 1].abs().max() < 100


def test_a_norm_after_the_mixer_is_that_of_equation_7() -> None:
    _, frames, _, _ = given()
    for place in ("before", "after"):
        torch.manual_seed(1)
        mixer = torch.nn.Linear(DIM, DIM)
        layers = GatedResiduals(DIM, [_Unmasked(mixer)], 0.5, place)
        (layer,) = layers.layers
        assert isinstance(layer, GatedResidual)
        mixed = mixer(layer.norm(frames)) if place == "before" else layer.norm(mixer(frames))
        assert torch.allclose(layers(frames), frames + 0.5 * layer.gate(mixed), atol=1e-6)


class _Unmasked(torch.nn.Module):
    """A linear map as a mixer."""

    def __init__(self, linear: torch.nn.Linear) -> None:
        super().__init__()
        self.linear = linear

    def forward(self, tokens: Tensor, mask: Tensor | None) -> Tensor:
        return self.linear(tokens)


def test_the_example_is_right() -> None:
    torch.manual_seed(0)
    (example,) = doctest.DocTestFinder(recurse=False).find(vtr_core.nn.mamba, "mamba", globs={})
    assert len(example.examples) == 12
    assert doctest.DocTestRunner().run(example).failed == 0
