"""The capsule network and its baselines: clips in one joint space of captions and features."""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from vtr_core.systems.capsules.config import (
    CapsuleNetConfig,
    FullyConnectedConfig,
    JointSpaceSettings,
    SelfAttentionBaselineConfig,
)
from vtr_core.systems.system import KnockOuts, Presets, System, margin_setting

if TYPE_CHECKING:
    import pandas as pd
    from torch import nn

    from vtr_core.data.captions.information import InformationTable
    from vtr_core.data.concepts.table import ConceptTable
    from vtr_core.run.config import TrainConfig
    from vtr_core.run.space import Space
    from vtr_core.systems.system import Build
    from vtr_core.systems.task import Task
    from vtr_core.systems.use import Use
    from vtr_core.train.checkpoint.load import LoadedModel


def _builder() -> "Build":
    from vtr_core.systems.capsules.build import build

    return build


def _task(
    config: "TrainConfig",
    rank: int,
    world: int,
    concepts: "ConceptTable | None",  # noqa: ARG001  all systems' are called alike
    information: "InformationTable | None",
) -> "Task":
    from vtr_core.data.batches.batch import clip_batch
    from vtr_core.systems.joint_space.task import RetrievalTask

    features = list(config.model.inputs.features)
    return RetrievalTask(config, rank, world, lambda columns: clip_batch(columns, features), information)


def _predict(loaded: "LoadedModel", table: "pd.DataFrame") -> "pd.DataFrame":
    from vtr_core.systems.capsules.served import predict

    return predict(loaded, table)


def _use(model: JointSpaceSettings) -> "Use":
    from vtr_core.systems.capsules.use import use

    return use(model)


def _presets() -> Presets:
    from vtr_core.systems.capsules.presets import BASES
    from vtr_core.systems.capsules.variants import VARIANTS, variant

    return Presets(BASES, tuple(VARIANTS), variant)


def _spaces() -> "Mapping[str, Callable[[], Space]]":
    from vtr_core.systems.capsules.space import SPACES

    return SPACES


def _trained_vectors(model: JointSpaceSettings) -> str:  # noqa: ARG001  any of them has it
    return "model.words.train_vectors"


def _usual_features(model: JointSpaceSettings) -> "Mapping[str, int]":  # noqa: ARG001  any of them has these
    """HowTo100M's: 2D and 3D features side by side, and DAVEnet's."""
    return {"video": 4096, "audio": 1024}


def _standardizes(model: JointSpaceSettings) -> bool:
    return model.standardize


def _knock_outs(model: "nn.Module") -> KnockOuts:
    from vtr_core.systems.capsules.knock_outs import knock_outs

    return knock_outs(model)


CAPSULES = System(
    name="capsules",
    configs=(CapsuleNetConfig, FullyConnectedConfig, SelfAttentionBaselineConfig),
    reads="clips",
    builder=_builder,
    task=_task,
    predict=_predict,
    use=_use,
    presets=_presets,
    spaces=_spaces,
    trained_vectors=_trained_vectors,
    standardizes=_standardizes,
    usual_features=_usual_features,
    knock_outs=_knock_outs,
    granularity=margin_setting,
)
