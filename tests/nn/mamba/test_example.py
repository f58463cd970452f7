"""The example of the package's docstring runs, and what it builds learns from what it is meant to."""

import doctest
from typing import Any

import pytest
import torch

import vtr_core.nn.mamba


@pytest.fixture
def names() -> dict[str, Any]:
    """What the example leaves behind."""
    torch.manual_seed(0)
    (example,) = doctest.DocTestFinder(recurse=False).find(vtr_core.nn.mamba, "mamba", globs={})
    assert len(example.examples) == 12
    result = doctest.DocTestRunner().run(example, clear_globs=False)
    assert result.failed == 0
    return example.globs


def video(names: dict[str, Any]) -> torch.Tensor:
    """The example's last lines again, with the names as they are now."""
    examples = doctest.DocTestParser().get_examples(vtr_core.nn.mamba.__doc__ or "")
    lines = [example.source for example in examples if example.source.startswith(("scaled", "frames", "video"))]
    assert len(lines) == 3
    exec("".join(lines), names)
    return names["video"]


def test_the_example_is_right(names: dict[str, Any]) -> None:
    assert names["video"].shape == (2, 64)


def test_with_gates_open_patches_count_and_missing_frames_do_not(names: dict[str, Any]) -> None:
    before = names["video"]
    for layer in names["block"].layers:
        torch.nn.init.constant_(layer.scale, 0.1)
    names["patches"].requires_grad_()
    after = video(names)
    assert (after - before).abs().min(dim=1).values.gt(0).all()
    after.square().sum().backward()
    reached = names["patches"].grad.abs().sum(dim=(2, 3)) > 0
    assert torch.equal(reached, names["mask"])
