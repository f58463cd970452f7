"""Siamese networks: images of subjects, and whether two are of the same one."""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from vtr_core.config.model_inputs import ModelInputs
from vtr_core.errors import ConfigError
from vtr_core.systems.siamese.config import PairContrastiveConfig, PairDoubleMarginConfig, SiameseConfig
from vtr_core.systems.system import Presets, System

if TYPE_CHECKING:
    import pandas as pd

    from vtr_core.data.captions.information import InformationTable
    from vtr_core.data.concepts.table import ConceptTable
    from vtr_core.data.manifest import Manifest
    from vtr_core.run.config import TrainConfig
    from vtr_core.run.space import Space
    from vtr_core.systems.system import Build
    from vtr_core.systems.task import Task
    from vtr_core.systems.use import Use
    from vtr_core.train.checkpoint.load import LoadedModel


def _builder() -> "Build":
    from vtr_core.systems.siamese.build import build

    return build


def _task(
    config: "TrainConfig",
    rank: int,
    world: int,
    concepts: "ConceptTable | None",  # noqa: ARG001  all systems' are called alike
    information: "InformationTable | None",  # noqa: ARG001
) -> "Task":
    from vtr_core.systems.siamese.task import VerificationTask

    return VerificationTask(config, rank, world)


def _predict(loaded: "LoadedModel", table: "pd.DataFrame") -> "pd.DataFrame":
    from vtr_core.systems.siamese.served import predict

    return predict(loaded, table)


def _use(model: SiameseConfig) -> "Use":
    from vtr_core.systems.siamese.use import use

    return use(model)


def _presets() -> Presets:
    from vtr_core.systems.siamese.presets import SIAMESE_BASES, SIAMESE_VARIANTS, siamese_variant

    return Presets(SIAMESE_BASES, tuple(SIAMESE_VARIANTS), siamese_variant)


def _spaces() -> "Mapping[str, Callable[[], Space]]":
    from vtr_core.systems.siamese.space import SPACES

    return SPACES


def _check(config: "TrainConfig") -> None:
    if config.batch.micro_rows is not None:
        raise ConfigError(
            "batch.micro_rows with model.kind = 'siamese': its batch normalisation needs all rows at once; "
            "leave it out, and lower batch.videos or batch.clips_per_video where memory is short"
        )
    if config.batch.videos < 2 or config.batch.clips_per_video < 2:
        raise ConfigError(
            f"batch.videos = {config.batch.videos} subjects with batch.clips_per_video = "
            f"{config.batch.clips_per_video} images each make no pairs of both kinds; use 2 or more of each"
        )


def _inputs(manifest: "Manifest") -> dict[str, Any]:
    """The images' shape; a model of no words has no vocabulary, and of no features none."""
    from vtr_core.data.records.schema import require_images

    schema = require_images(manifest.schema, manifest.uri)
    shape = {"height": schema.height, "width": schema.width, "channels": schema.channels}
    return {"model.image": shape, "model.inputs": ModelInputs().model_dump()}


SIAMESE = System(
    name="siamese",
    configs=(SiameseConfig,),
    losses=(PairContrastiveConfig, PairDoubleMarginConfig),
    reads="images",
    builder=_builder,
    task=_task,
    predict=_predict,
    use=_use,
    evaluation="verification",
    presets=_presets,
    spaces=_spaces,
    check=_check,
    inputs=_inputs,
)
