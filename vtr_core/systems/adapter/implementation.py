"""`Implementation` of the adapter."""

from collections.abc import Callable, Mapping
from dataclasses import replace

import numpy as np
import torch
from jaxtyping import Float32, Num
from torch import Tensor, nn

from vtr_core.config.run import TrainConfig
from vtr_core.data.batches import frame_batch
from vtr_core.data.reading.feature_statistics import FeatureStatistics
from vtr_core.encoders.encoder import encoder
from vtr_core.systems.adapter.config import AdapterConfig
from vtr_core.systems.adapter.model import Adapter
from vtr_core.systems.adapter.videos import ADAPTER_SPACE
from vtr_core.systems.clip_space import clip_task, predict, signature
from vtr_core.systems.implementation import Implementation
from vtr_core.systems.joint_space import RetrievalTask
from vtr_core.systems.loaded_model import TrainedModel
from vtr_core.systems.spaces import ConceptTerms
from vtr_core.systems.task import LossTables


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


def _concept_terms(loaded: TrainedModel) -> ConceptTerms | None:
    """z and q of an encoder with named concepts, as long as nothing was trained on top of it."""
    model = loaded.model
    if not isinstance(model, Adapter) or not model.config.encoder.classes or not model.is_zero_shot:
        return None
    config, head = model.config, model.head
    assert head is not None, "an encoder with concepts has a head"

    def clips(rows: Num[np.ndarray, "clips values"]) -> Float32[np.ndarray, "clips concepts"]:
        return _on_device(head.concepts, rows[:, : config.encoder.feature_dim], model)

    def texts(vectors: Float32[np.ndarray, "texts dim"]) -> Float32[np.ndarray, "texts concepts"]:
        return _on_device(head.text_concepts, vectors, model)

    return ConceptTerms(config.feature, clips, texts)


def _on_device(
    use: Callable[[Tensor], Tensor | None], rows: Num[np.ndarray, "rows values"], model: Adapter
) -> Float32[np.ndarray, "rows concepts"]:
    with torch.inference_mode():
        concepts = use(torch.from_numpy(np.array(rows, np.float32)).to(model.device))
    assert concepts is not None, "a head of classes names concepts"
    return concepts.cpu().numpy()


IMPLEMENTATION = Implementation(
    build=_build,
    task=_task,
    predict=predict,
    signature=signature,
    retrieval=replace(ADAPTER_SPACE, concept_terms=_concept_terms),
    pretrained=_pretrained,
)
