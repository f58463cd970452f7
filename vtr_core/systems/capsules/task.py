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
    match config:
        case CapsuleNetConfig():
            model: CapsuleNet | FullyConnected | SelfAttentionBaseline = CapsuleNet(config)
        case FullyConnectedConfig():
            model = FullyConnected(config)
        case SelfAttentionBaselineConfig():
            model = SelfAttentionBaseline(config)
        case _:
            raise AssertionError(f"{type(config).__name__} is no configuration of a capsule network or its baselines")
    given = None if config.words.encoder is not None else vectors
    if config.initialization == "scaled":
        size = 1.0 if given is None else float(np.sqrt(np.square(given, dtype=np.float64).mean()))
        model.initialize(size or 1.0)  # of vectors that are all 0
    if given is not None:
        model.inputs.load_word_vectors(torch.from_numpy(given.copy()))
    if statistics is not None:
        model.inputs.load_statistics(statistics)
    return model


def _compiles(config: JointSpaceSettings) -> bool:
    """The capsule network with routing by self-attention; other routings and the baselines were never compared, and a
    pretrained encoder is no part of a graph.
    """
    capsules = isinstance(config, CapsuleNetConfig) and config.routing.kind == "self_attention"
    return capsules and config.words.encoder is None


IMPLEMENTATION = Implementation(
    build=build,
    task=clip_task,
    predict=predict,
    signature=signature,
    retrieval=CLIP_SPACE,
    responses=responses,
    compiles=_compiles,
)
