"""The captioner: whole videos, and the sentences that it generates for them."""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from vtr_core.errors import ConfigError
from vtr_core.systems.captioning.config import CaptionerConfig, CaptioningLossConfig
from vtr_core.systems.system import Presets, System, margin_setting

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
    from vtr_core.systems.captioning.build import build

    return build


def _task(
    config: "TrainConfig",
    rank: int,
    world: int,
    concepts: "ConceptTable | None",  # noqa: ARG001  all systems' are called alike
    information: "InformationTable | None",
) -> "Task":
    from vtr_core.systems.captioning.task import CaptioningTask

    return CaptioningTask(config, rank, world, information)


def _predict(loaded: "LoadedModel", table: "pd.DataFrame") -> "pd.DataFrame":
    from vtr_core.systems.captioning.served import predict

    return predict(loaded, table)


def _use(model: CaptionerConfig) -> "Use":
    from vtr_core.systems.captioning.use import use

    return use(model)


def _presets() -> Presets:
    from vtr_core.systems.captioning.presets import CAPTION_BASES, CAPTION_VARIANTS, caption_variant

    return Presets(CAPTION_BASES, tuple(CAPTION_VARIANTS), caption_variant)


def _spaces() -> "Mapping[str, Callable[[], Space]]":
    from vtr_core.systems.captioning.space import SPACES

    return SPACES


def _check(config: "TrainConfig") -> None:
    if config.batch.micro_rows is not None:
        raise ConfigError(
            "batch.micro_rows with model.kind = 'captioner': its loss is no function of embeddings alone; leave it "
            "out, and lower batch.videos or loss.score.block_pairs where memory is short"
        )


def _check_data(manifest: "Manifest") -> None:
    """DatasetError for a video without captions."""
    from vtr_core.data.captions.information import check_told
    from vtr_core.data.captions.video_captions import video_captions

    check_told(video_captions(manifest), manifest.uri)


def _standardizes(model: CaptionerConfig) -> bool:
    return model.standardize


def _usual_features(model: CaptionerConfig) -> "Mapping[str, int]":
    """ResNet-152's vector of a frame."""
    return {model.feature: 2048}


CAPTIONING = System(
    name="captioning",
    configs=(CaptionerConfig,),
    losses=(CaptioningLossConfig,),
    reads="videos",
    builder=_builder,
    task=_task,
    predict=_predict,
    use=_use,
    evaluation="captioning",
    presets=_presets,
    spaces=_spaces,
    check=_check,
    check_data=_check_data,
    standardizes=_standardizes,
    usual_features=_usual_features,
    granularity=margin_setting,
)
