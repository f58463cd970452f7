"""MUSE: whole videos at several scales, and captions, in one space."""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from vtr_core.config.blocks.learners import NoLearner
from vtr_core.errors import ConfigError
from vtr_core.systems.muse.config import MuseConfig, TextWords
from vtr_core.systems.system import KnockOuts, Presets, System, margin_setting

if TYPE_CHECKING:
    import pandas as pd
    import torch
    from torch import nn

    from vtr_core.data.captions.information import InformationTable
    from vtr_core.data.concepts.table import ConceptTable
    from vtr_core.run.config import TrainConfig
    from vtr_core.run.space import Space
    from vtr_core.systems.system import Build
    from vtr_core.systems.task import Task
    from vtr_core.systems.use import Use
    from vtr_core.train.checkpoint.load import LoadedModel

_CLIP_DIM = 512
"""Of ViT-B/32's tokens in the space that images and captions share."""


def _builder() -> "Build":
    from vtr_core.systems.muse.build import build

    return build


def _task(
    config: "TrainConfig",
    rank: int,
    world: int,
    concepts: "ConceptTable | None",  # noqa: ARG001  all systems' are called alike
    information: "InformationTable | None",
) -> "Task":
    from vtr_core.data.batches.frames import frame_batch
    from vtr_core.systems.joint_space.task import RetrievalTask

    assert isinstance(config.model, MuseConfig)
    names = config.model.columns
    return RetrievalTask(config, rank, world, lambda columns: frame_batch(columns, names), information)


def _predict(loaded: "LoadedModel", table: "pd.DataFrame") -> "pd.DataFrame":
    from vtr_core.systems.muse.served import predict

    return predict(loaded, table)


def _use(model: MuseConfig) -> "Use":
    from vtr_core.systems.muse.use import use

    return use(model)


def _presets() -> Presets:
    from vtr_core.systems.muse.presets import MUSE_BASES, MUSE_VARIANTS, muse_variant

    return Presets(MUSE_BASES, tuple(MUSE_VARIANTS), muse_variant)


def _spaces() -> "Mapping[str, Callable[[], Space]]":
    from vtr_core.systems.muse.space import SPACES

    return SPACES


def _check(config: "TrainConfig") -> None:
    """ConfigError where parts of the model could never be trained: tokens that nothing reads."""
    model = config.model
    assert isinstance(model, MuseConfig)
    if isinstance(model.learner, NoLearner) and (model.scales != (1,) or model.temporal_scales):
        raise ConfigError(
            f"model.learner.kind = 'none' keeps the [CLS] tokens as they are: nothing reads scales = {model.scales} "
            f"with temporal_scales = {model.temporal_scales}; use --model.scales [1] and --model.temporal_scales []"
        )


def _trained_vectors(model: MuseConfig) -> str | None:
    return "model.text.train_vectors" if isinstance(model.text, TextWords) else None


def _events(model: "nn.Module", device: "torch.device", dtype: "torch.dtype") -> Mapping[str, Mapping[str, str]]:
    """Where selective scans are computed, which `auto` leaves open."""
    from vtr_core.systems.muse.model import Muse

    assert isinstance(model, Muse)
    scan = model.scan(device, dtype)
    return {} if scan is None else {"scan": {"backend": scan.name, "reason": scan.reason}}


def _usual_features(model: MuseConfig) -> "Mapping[str, int]":
    """CLIP's tokens, and its vectors of captions where the model takes those."""
    tokens = 1 if model.grid is None else 1 + model.grid**2
    return {column: _CLIP_DIM * (tokens if column == model.feature else 1) for column in model.columns}


def _knock_outs(model: "nn.Module") -> KnockOuts:
    from vtr_core.systems.muse.knock_outs import knock_outs

    return knock_outs(model)


MUSE = System(
    name="muse",
    configs=(MuseConfig,),
    reads="videos",
    builder=_builder,
    task=_task,
    predict=_predict,
    use=_use,
    presets=_presets,
    spaces=_spaces,
    check=_check,
    trained_vectors=_trained_vectors,
    usual_features=_usual_features,
    knock_outs=_knock_outs,
    granularity=margin_setting,
    events=_events,
)
