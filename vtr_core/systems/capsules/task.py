"""The capsule network's `Implementation`: a new model, its training and its uses."""

from collections.abc import Mapping

import numpy as np
import torch

from vtr_core.data.reading.feature_statistics import FeatureStatistics
from vtr_core.systems.capsules.activation_report import responses
from vtr_core.systems.capsules.config import (
    CapsuleNetConfig,
    FullyConnectedConfig,
    JointSpaceSettings,
    SelfAttentionBaselineConfig,
)
from vtr_core.systems.capsules.model import CapsuleNet, FullyConnected, SelfAttentionBaseline
from vtr_core.systems.clip_space import CLIP_SPACE, clip_task, predict, signature
from vtr_core.systems.implementation import Implementation


def build(
    config: JointSpaceSettings, vectors: np.ndarray | None, statistics: Mapping[str, FeatureStatistics] | None
) -> CapsuleNet | FullyConnected | SelfAttentionBaseline:
    """The network of a configuration; vectors: (words, word_dim) of the vocabulary; statistics: of all features."""
    model = _fresh(config)
    if config.initialization == "scaled":
        model.initialize(1.0 if vectors is None or config.words.encoder is not None else _size(vectors))
    if vectors is not None and config.words.encoder is None:
        model.inputs.load_word_vectors(torch.from_numpy(vectors.copy()))
    if statistics is not None:
        model.inputs.load_statistics(statistics)
    return model


def _fresh(config: JointSpaceSettings) -> CapsuleNet | FullyConnected | SelfAttentionBaseline:
    match config:
        case CapsuleNetConfig():
            return CapsuleNet(config)
        case FullyConnectedConfig():
            return FullyConnected(config)
        case SelfAttentionBaselineConfig():
            return SelfAttentionBaseline(config)
        case _:
            raise AssertionError(f"{type(config).__name__} is no configuration of a capsule network or its baselines")


def _size(vectors: np.ndarray) -> float:
    """Root mean square of given word vectors; 1 where they are all 0."""
    return float(np.sqrt(np.square(vectors, dtype=np.float64).mean())) or 1.0


IMPLEMENTATION = Implementation(
    build=build,
    task=clip_task,
    predict=predict,
    signature=signature,
    retrieval=CLIP_SPACE,
    responses=responses,
)
