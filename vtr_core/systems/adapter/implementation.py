"""`Implementation` of the adapter."""

from collections.abc import Mapping

import numpy as np
from torch import nn

from vtr_core.data.batches.frames import frame_batch
from vtr_core.data.reading.statistics import FeatureStatistics
from vtr_core.encoders.encoder import encoder
from vtr_core.run.config import TrainConfig
from vtr_core.systems.adapter.config import AdapterConfig
from vtr_core.systems.adapter.model import Adapter
from vtr_core.systems.adapter.videos import ADAPTER_SPACE
from vtr_core.systems.implementation import Implementation
from vtr_core.systems.joint_space.clips import clip_task
from vtr_core.systems.joint_space.served import predict
from vtr_core.systems.joint_space.signature import signature
from vtr_core.systems.joint_space.task import RetrievalTask
from vtr_core.systems.loss_tables import LossTables


def _build(
    config: AdapterConfig,
    vectors: np.ndarray | None,  # noqa: ARG001  texts are encoded, not looked up
    statistics: Mapping[str, FeatureStatistics] | None,
) -> Adapter:
    model = Adapter(config)
    if statistics is not None:
        model.load_statistics(statistics[config.feature])
    return model


def _task(config: TrainConfig, rank: int, world: int, tables: LossTables) -> RetrievalTask:
    """Contrastive training on clips, or on whole videos with a caption each."""
    assert isinstance(config.model, AdapterConfig)
    if config.model.frames == "pooled":
        return clip_task(config, rank, world, tables)
    names = config.model.columns
    return RetrievalTask(config, rank, world, lambda columns: frame_batch(columns, names), tables.information)


def _pretrained(model: nn.Module) -> None:
    """The weights of the encoder's head; those of its text side are named, not copied."""
    assert isinstance(model, Adapter)
    if model.head is not None:
        model.head.load_state_dict(encoder(model.config.encoder.name).head().state_dict())


IMPLEMENTATION = Implementation(
    build=_build,
    task=_task,
    predict=predict,
    signature=signature,
    retrieval=ADAPTER_SPACE,
    pretrained=_pretrained,
)
