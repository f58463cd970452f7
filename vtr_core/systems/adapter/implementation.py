"""`Implementation` of the adapter."""

from collections.abc import Mapping

import numpy as np
from torch import nn

from vtr_core.data.reading.statistics import FeatureStatistics
from vtr_core.encoders.encoder import encoder
from vtr_core.systems.adapter.config import AdapterConfig
from vtr_core.systems.adapter.model import Adapter
from vtr_core.systems.implementation import Implementation
from vtr_core.systems.joint_space.clips import CLIP_SPACE, clip_task
from vtr_core.systems.joint_space.served import predict
from vtr_core.systems.joint_space.signature import signature


def _build(
    config: AdapterConfig, vectors: np.ndarray | None, statistics: Mapping[str, FeatureStatistics] | None
) -> Adapter:
    assert vectors is None or statistics is None
    return Adapter(config)


def _pretrained(model: nn.Module) -> None:
    """The weights of the encoder's head; those of its text side are named, not copied."""
    assert isinstance(model, Adapter)
    model.head.load_state_dict(encoder(model.config.encoder.name).head().state_dict())


IMPLEMENTATION = Implementation(
    build=_build,
    task=clip_task,
    predict=predict,
    signature=signature,
    retrieval=CLIP_SPACE,
    pretrained=_pretrained,
)
