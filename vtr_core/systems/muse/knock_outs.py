"""Test-time ablations of MUSE's learner, scales and scan directions."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn

from vtr_core.nn.mamba.block import MambaMixer
from vtr_core.nn.mamba.temporal_scale import TemporalTokens
from vtr_core.systems.knock_out import KnockOuts, Remark
from vtr_core.systems.muse.model import Muse


def knock_outs(model: nn.Module) -> KnockOuts:
    """The ablations that apply to a MUSE model.

    `learner`: frames unchanged, as with gates of 0, so that a video is the mean of their directions. `scale-<s>`:
    without the tokens of the s × s grid. `time-<w>`: without those of windows of w frames. `backward`: without the scan
    from the last token to the first.
    """
    assert isinstance(model, Muse)
    grids = () if model.pyramid is None else tuple(model.pyramid.scales)
    widths = zip(model.config.temporal_scales, model.temporal, strict=True)
    mixers = [one for one in model.learner.modules() if isinstance(one, MambaMixer) and one.config.scan != "none"]
    return {
        "learner": partial(_no_learner, model),
        **{f"scale-{scale}": partial(_no_grid, model, place) for place, scale in enumerate(grids)},
        **{f"time-{width}": partial(_no_windows, scale) for width, scale in widths},
        **({"backward": partial(_forward_alone, mixers)} if mixers else {}),
    }


@contextmanager
def _hooked(module: nn.Module, hook: Callable[..., Any], remark: str) -> Iterator[Remark]:
    """Context in which the module's output is `hook(module, input, output)`."""
    handle = module.register_forward_hook(hook)
    try:
        yield lambda: remark
    finally:
        handle.remove()


@contextmanager
def _no_learner(model: Muse) -> Iterator[Remark]:
    def hook(module: nn.Module, given: tuple[Any, ...], learned: Tensor) -> Tensor:  # noqa: ARG001
        tokens: Tensor = given[0]
        return tokens

    with _hooked(model.learner, hook, "a video is the mean of its frames' directions") as remark:
        yield remark


@contextmanager
def _no_grid(model: Muse, place: int) -> Iterator[Remark]:
    def hook(module: nn.Module, given: tuple[Any, ...], grids: list[Tensor]) -> list[Tensor]:  # noqa: ARG001
        return [*grids[:place], *grids[place + 1 :]]

    assert model.pyramid is not None
    with _hooked(model.pyramid, hook, "the tokens of this grid are left out of the sequence") as remark:
        yield remark


@contextmanager
def _no_windows(scale: nn.Module) -> Iterator[Remark]:
    def hook(module: nn.Module, given: tuple[Any, ...], found: TemporalTokens) -> TemporalTokens:  # noqa: ARG001
        return TemporalTokens(found.tokens, torch.zeros_like(found.mask))

    with _hooked(scale, hook, "the tokens of these windows are left out of the sequence") as remark:
        yield remark


@contextmanager
def _forward_alone(mixers: list[MambaMixer]) -> Iterator[Remark]:
    with ExitStack() as stack:
        for mixer in mixers:
            stack.callback(setattr, mixer, "config", mixer.config)
            mixer.config = mixer.config.model_copy(update={"scan": "none"})
        yield lambda: "tokens know those before them alone"
