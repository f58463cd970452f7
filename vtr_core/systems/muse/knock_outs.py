"""MUSE without what it learns over tokens: what its central mechanism is worth."""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

from torch import Tensor, nn

from vtr_core.systems.knock_out import KnockOuts, Remark
from vtr_core.systems.muse.model import Muse


def knock_outs(model: nn.Module) -> KnockOuts:
    """`learner`: frames as they are, so that a video is the mean of their directions."""
    assert isinstance(model, Muse)
    return {"learner": partial(_no_learner, model)}


@contextmanager
def _no_learner(model: Muse) -> Iterator[Remark]:
    def hook(module: nn.Module, given: tuple[Any, ...], learned: Tensor) -> Tensor:  # noqa: ARG001
        tokens: Tensor = given[0]
        return tokens

    handle = model.learner.register_forward_hook(hook)
    try:
        yield lambda: "a video is the mean of its frames' directions"
    finally:
        handle.remove()
