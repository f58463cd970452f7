"""`Implementation` of MUSE: how it is built, trained, served, and what can be knocked out."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from functools import partial
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from vtr_core.config.run import TrainConfig
from vtr_core.data.batches import frame_batch
from vtr_core.data.reading.feature_statistics import FeatureStatistics
from vtr_core.nn.mamba.learners import scan_event
from vtr_core.nn.mamba.mixer import MambaMixer
from vtr_core.nn.mamba.pyramid import TemporalTokens
from vtr_core.systems.implementation import Implementation
from vtr_core.systems.joint_space import RetrievalTask, predict, signature
from vtr_core.systems.loaded_model import KnockOuts, Remark
from vtr_core.systems.muse.config import MuseConfig
from vtr_core.systems.muse.model import Muse, WordTower, initialize
from vtr_core.systems.muse.video_embeddings import check, embed_videos, embed_words, encode_frames
from vtr_core.systems.spaces import JointSpace
from vtr_core.systems.task import LossTables


def knock_outs(model: nn.Module) -> KnockOuts:
    """The ablations that apply to a MUSE model.

    `learner`: frames unchanged, as with gates of 0, so that a video is the mean of their directions. `scale-<s>`:
    without the tokens of the s × s grid. `time-<w>`: without those of windows of w frames. `backward`: without the scan
    from the last token to the first.
    """
    assert isinstance(model, Muse)
    grids = () if model.pyramid is None else tuple(model.pyramid.scales)
    widths = zip(model.config.temporal_scales, model.temporal, strict=True)
    mixers = [m for m in model.learner.modules() if isinstance(m, MambaMixer) and m.config.scan != "none"]
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
    def hook(module: nn.Module, inputs: tuple[Any, ...], learned: Tensor) -> Tensor:  # noqa: ARG001
        tokens: Tensor = inputs[0]
        return tokens

    with _hooked(model.learner, hook, "a video is the mean of its frames' directions") as remark:
        yield remark


@contextmanager
def _no_grid(model: Muse, place: int) -> Iterator[Remark]:
    def hook(module: nn.Module, inputs: tuple[Any, ...], grids: list[Tensor]) -> list[Tensor]:  # noqa: ARG001
        return [*grids[:place], *grids[place + 1 :]]

    assert model.pyramid is not None
    with _hooked(model.pyramid, hook, "the tokens of this grid are left out of the sequence") as remark:
        yield remark


@contextmanager
def _no_windows(scale: nn.Module) -> Iterator[Remark]:
    def hook(module: nn.Module, inputs: tuple[Any, ...], tokens: TemporalTokens) -> TemporalTokens:  # noqa: ARG001
        return TemporalTokens(tokens.tokens, torch.zeros_like(tokens.mask))

    with _hooked(scale, hook, "the tokens of these windows are left out of the sequence") as remark:
        yield remark


@contextmanager
def _forward_alone(mixers: list[MambaMixer]) -> Iterator[Remark]:
    with ExitStack() as stack:
        for mixer in mixers:
            stack.callback(setattr, mixer, "config", mixer.config)
            mixer.config = mixer.config.model_copy(update={"scan": "none"})
        yield lambda: "tokens know those before them alone"


def _build(
    config: MuseConfig,
    vectors: np.ndarray | None,
    statistics: Mapping[str, FeatureStatistics] | None,
) -> Muse:
    """A newly initialised model; vectors: (words, word_dim) of the vocabulary, for a text encoder of words."""
    model = Muse(config)
    if statistics is not None:
        assert model.tokens is not None, "frames are taken as they are"
        model.tokens.load(statistics[config.feature])
    if config.compat == "none":
        initialize(model)
    if vectors is not None and isinstance(model.words, WordTower):
        model.words.load_word_vectors(torch.from_numpy(vectors.copy()))
    return model


def _task(
    config: TrainConfig,
    rank: int,
    world: int,
    tables: LossTables,
) -> RetrievalTask:
    assert isinstance(config.model, MuseConfig)
    names = config.model.columns
    return RetrievalTask(config, rank, world, lambda columns: frame_batch(columns, names), tables.information)


def _events(model: nn.Module, device: torch.device, dtype: torch.dtype) -> Mapping[str, Mapping[str, str]]:
    """Backend of the selective scan, which `auto` leaves open."""
    assert isinstance(model, Muse)
    return scan_event(model.config.learner, device, dtype)


IMPLEMENTATION = Implementation(
    build=_build,
    task=_task,
    predict=predict,
    signature=signature,
    retrieval=JointSpace(check=check, rows=embed_videos, queries=embed_words, arrays=encode_frames),
    events=_events,
    knock_outs=knock_outs,
)
