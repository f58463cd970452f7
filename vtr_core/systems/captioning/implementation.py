"""`Implementation` of the captioner."""

from collections.abc import Mapping

import numpy as np
from torch import nn

from vtr_core.backbones.swin import load_swin
from vtr_core.data.reading.statistics import FeatureStatistics
from vtr_core.run.config import TrainConfig
from vtr_core.systems.captioning.caption_rows import CAPTIONS
from vtr_core.systems.captioning.config import CaptionerConfig
from vtr_core.systems.captioning.described import describe_data
from vtr_core.systems.captioning.model import Captioner
from vtr_core.systems.captioning.served import predict
from vtr_core.systems.captioning.signature import signature
from vtr_core.systems.captioning.task import CaptioningTask
from vtr_core.systems.implementation import Implementation
from vtr_core.systems.loss_tables import LossTables


def _build(
    config: CaptionerConfig,
    vectors: np.ndarray | None,  # noqa: ARG001  all systems' are called alike
    statistics: Mapping[str, FeatureStatistics] | None,
) -> Captioner:
    """A newly initialised captioner, including its output word embeddings; statistics: of its feature."""
    model = Captioner(config)
    if statistics is not None:
        model.load_statistics(statistics)
    return model


def _pretrained(model: nn.Module) -> None:
    """Load the weights of the backbone, if there are any. CheckpointError for a file of another network."""
    assert isinstance(model, Captioner)
    if model.config.backbone is not None and model.config.backbone.weights is not None:
        assert model.backbone is not None
        load_swin(model.backbone, model.config.backbone.weights)


def _task(
    config: TrainConfig,
    rank: int,
    world: int,
    tables: LossTables,
) -> CaptioningTask:
    return CaptioningTask(config, rank, world, tables)


IMPLEMENTATION = Implementation(
    build=_build,
    task=_task,
    predict=predict,
    signature=signature,
    describe=describe_data,
    outputs={"captions": CAPTIONS},
    pretrained=_pretrained,
)
