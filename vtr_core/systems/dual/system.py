"""The dual encoder: whole videos and sentences in a latent space, a concept space, or both."""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from vtr_core.errors import ConfigError
from vtr_core.systems.dual.config import DualTripletConfig, HybridEncoderConfig
from vtr_core.systems.system import Presets, System, margin_setting

if TYPE_CHECKING:
    import pandas as pd

    from vtr_core.data.captions.information import InformationTable
    from vtr_core.data.concepts.table import ConceptTable
    from vtr_core.run.config import TrainConfig
    from vtr_core.run.space import Space
    from vtr_core.systems.system import Build
    from vtr_core.systems.task import Task
    from vtr_core.systems.use import Use
    from vtr_core.train.checkpoint.load import LoadedModel


def _builder() -> "Build":
    from vtr_core.systems.dual.build import build

    return build


def _task(
    config: "TrainConfig",
    rank: int,
    world: int,
    concepts: "ConceptTable | None",
    information: "InformationTable | None",
) -> "Task":
    from vtr_core.systems.dual.task import DualEncodingTask

    return DualEncodingTask(config, rank, world, concepts, information)


def _predict(loaded: "LoadedModel", table: "pd.DataFrame") -> "pd.DataFrame":
    from vtr_core.systems.dual.served import predict

    return predict(loaded, table)


def _use(model: HybridEncoderConfig) -> "Use":
    from vtr_core.systems.dual.use import use

    return use(model)


def _presets() -> Presets:
    from vtr_core.systems.dual.presets import DUAL_BASES, DUAL_VARIANTS, dual_variant

    return Presets(DUAL_BASES, tuple(DUAL_VARIANTS), dual_variant)


def _spaces() -> "Mapping[str, Callable[[], Space]]":
    from vtr_core.systems.dual.space import SPACES

    return SPACES


def _check(config: "TrainConfig") -> None:
    if config.batch.micro_rows is not None:
        raise ConfigError(
            "batch.micro_rows with model.kind = 'hybrid_encoder': its batch normalisation needs all rows at once; "
            "leave it out, and lower batch.videos or batch.max_frames where memory is short"
        )


def _trained_vectors(model: HybridEncoderConfig) -> str:  # noqa: ARG001  any of them has it
    return "model.train_vectors"


def _num_concepts(model: HybridEncoderConfig) -> int | None:
    return model.num_concepts


def _usual_features(model: HybridEncoderConfig) -> "Mapping[str, int]":
    """ResNeXt-101's and ResNet-152's vectors of a frame side by side."""
    return {model.feature: 4096}


DUAL = System(
    name="dual",
    configs=(HybridEncoderConfig,),
    losses=(DualTripletConfig,),
    reads="videos",
    builder=_builder,
    task=_task,
    predict=_predict,
    use=_use,
    presets=_presets,
    spaces=_spaces,
    check=_check,
    trained_vectors=_trained_vectors,
    num_concepts=_num_concepts,
    usual_features=_usual_features,
    granularity=margin_setting,
)
