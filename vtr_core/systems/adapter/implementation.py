"""`Implementation` of the adapter."""

from collections.abc import Callable, Mapping
from dataclasses import replace

import numpy as np
import torch
from jaxtyping import Float32, Num
from torch import Tensor, nn

from vtr_core.data.manifest import Manifest
from vtr_core.data.reading.statistics import FeatureStatistics
from vtr_core.encoders.encoder import encoder
from vtr_core.retrieval.embed.clips import check_features
from vtr_core.retrieval.embed.joint_space import ConceptTerms
from vtr_core.run.config import TrainConfig
from vtr_core.systems.adapter.config import AdapterConfig
from vtr_core.systems.adapter.inputs import check_made_with
from vtr_core.systems.adapter.model import Adapter
from vtr_core.systems.implementation import Implementation
from vtr_core.systems.joint_space.clips import CLIP_SPACE, clip_task
from vtr_core.systems.joint_space.served import predict
from vtr_core.systems.joint_space.signature import signature
from vtr_core.systems.loaded_model import TrainedModel


def _build(
    config: AdapterConfig, vectors: np.ndarray | None, statistics: Mapping[str, FeatureStatistics] | None
) -> Adapter:
    assert vectors is None or statistics is None
    return Adapter(config)


def _pretrained(model: nn.Module) -> None:
    """The weights of the encoder's head; those of its text side are named, not copied."""
    assert isinstance(model, Adapter)
    model.head.load_state_dict(encoder(model.config.encoder.name).head().state_dict())


def _check(config: TrainConfig, manifest: Manifest) -> None:
    """DatasetError unless the data set has the encoder's rows, pooled as the model takes them."""
    assert isinstance(config.model, AdapterConfig)
    check_made_with(manifest, config.model.encoder)
    name, wanted = config.model.feature, config.model.inputs.features
    held = {feature.name: feature.dim for feature in manifest.schema.features}
    if wanted.get(name) == config.model.encoder.feature_dim and held.get(name) == 2 * wanted[name]:
        wanted = {**wanted, name: held[name]}  # of mean and deviation the model takes the mean
    check_features(manifest, wanted)


def _concept_terms(loaded: TrainedModel) -> ConceptTerms | None:
    """z and q of an encoder with named concepts, as long as nothing was trained on top of it."""
    model = loaded.model
    if not isinstance(model, Adapter) or not model.config.encoder.classes or not model.is_zero_shot:
        return None
    config, head = model.config, model.head

    def clips(rows: Num[np.ndarray, "clips values"]) -> Float32[np.ndarray, "clips concepts"]:
        return _on_device(head.concepts, rows[:, : config.encoder.feature_dim], model)

    def texts(vectors: Float32[np.ndarray, "texts dim"]) -> Float32[np.ndarray, "texts concepts"]:
        return _on_device(head.text_concepts, vectors, model)

    return ConceptTerms(config.feature, clips, texts)


def _on_device(
    use: Callable[[Tensor], Tensor | None], rows: Num[np.ndarray, "rows values"], model: nn.Module
) -> Float32[np.ndarray, "rows concepts"]:
    device = next(model.parameters()).device
    with torch.inference_mode():
        found = use(torch.from_numpy(np.array(rows, np.float32)).to(device))
    assert found is not None, "a head of classes names concepts"
    return found.cpu().numpy()


IMPLEMENTATION = Implementation(
    build=_build,
    task=clip_task,
    predict=predict,
    signature=signature,
    retrieval=replace(CLIP_SPACE, check=_check, concept_terms=_concept_terms),
    pretrained=_pretrained,
)
