"""`Implementation` of the dual encoder."""

from collections.abc import Mapping

import numpy as np
import torch
from jaxtyping import Float32
from torch import Tensor

from vtr_core.config.concept_similarity import ConceptSimilarity
from vtr_core.data.manifest import Manifest
from vtr_core.data.reading.statistics import FeatureStatistics
from vtr_core.retrieval.embed.frames import check_frames
from vtr_core.retrieval.search.dual_spaces import DualSpaces
from vtr_core.run.config import TrainConfig
from vtr_core.systems.dual.concepts.rows import CONCEPTS
from vtr_core.systems.dual.config import HybridEncoderConfig
from vtr_core.systems.dual.evaluation import checkpoint_figures
from vtr_core.systems.dual.model import HybridEncoder
from vtr_core.systems.dual.rows import dual_encoder, encode_frames, encode_texts, table_rows
from vtr_core.systems.dual.scores import compare
from vtr_core.systems.dual.search import dual_queries, embedded_videos
from vtr_core.systems.dual.served import predict
from vtr_core.systems.dual.signature import signature
from vtr_core.systems.dual.task import DualEncodingTask
from vtr_core.systems.implementation import Implementation
from vtr_core.systems.loaded_model import TrainedModel


def _build(
    config: HybridEncoderConfig,
    vectors: np.ndarray | None,
    statistics: Mapping[str, FeatureStatistics] | None,
) -> HybridEncoder:
    """A newly initialised encoder; vectors: (words, word_dim) of the vocabulary."""
    assert statistics is None, "frames are taken as they are"
    model = HybridEncoder(config)
    if vectors is not None:
        model.words.load_word_vectors(torch.from_numpy(vectors.copy()))
    return model


def _model(config: TrainConfig) -> HybridEncoderConfig:
    assert isinstance(config.model, HybridEncoderConfig)
    return config.model


def _check(config: TrainConfig, manifest: Manifest) -> None:
    check_frames(manifest, _model(config))


def _has_latent(config: TrainConfig) -> bool:
    return _model(config).latent_dim is not None


def _concept_similarity(config: TrainConfig) -> ConceptSimilarity:
    return _model(config).concept_similarity


def _ranges(loaded: TrainedModel) -> Float32[Tensor, "2 2"]:
    return dual_encoder(loaded).ranges.detach().float().cpu()


IMPLEMENTATION = Implementation(
    build=_build,
    task=DualEncodingTask,
    predict=predict,
    signature=signature,
    outputs={"concepts": CONCEPTS},
    retrieval=DualSpaces(
        check=_check,
        has_latent=_has_latent,
        concept_similarity=_concept_similarity,
        ranges=_ranges,
        rows=table_rows,
        videos=embedded_videos,
        queries=dual_queries,
        figures=checkpoint_figures,
        texts=encode_texts,
        arrays=encode_frames,
        compare=compare,
    ),
)
