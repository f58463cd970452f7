"""MUSE's `Implementation`: a new model, its training and its uses."""

from collections.abc import Mapping

import numpy as np
import torch
from torch import nn

from vtr_core.config.run import TrainConfig
from vtr_core.data.manifest import Manifest
from vtr_core.data.reading.feature_statistics import FeatureStatistics
from vtr_core.embedding.embedded_rows import check_frames
from vtr_core.nn.mamba.learners import scan_event
from vtr_core.systems.implementation import Implementation
from vtr_core.systems.joint_space import frame_task, predict, signature
from vtr_core.systems.muse.config import MuseConfig
from vtr_core.systems.muse.model import Muse, WordTower, initialize
from vtr_core.systems.spaces import JointSpace
from vtr_core.systems.video_space import embed_videos, embed_words, encode_frames


def _check(config: TrainConfig, manifest: Manifest) -> None:
    assert isinstance(config.model, MuseConfig)
    check_frames(manifest, config.model)


def _build(
    config: MuseConfig,
    vectors: np.ndarray | None,
    statistics: Mapping[str, FeatureStatistics] | None,
) -> Muse:
    """A newly initialised model; vectors: (words, word_dim) of the vocabulary, for a text encoder of words."""
    model = Muse(config)
    if statistics is not None:
        assert model.tokens is not None, "frames are taken as they are"
        model.tokens.load(statistics[config.feature])
    if config.compat == "none":
        initialize(model)
    if vectors is not None and isinstance(model.words, WordTower):
        model.words.load_word_vectors(torch.from_numpy(vectors.copy()))
    return model


def _events(model: nn.Module, device: torch.device, dtype: torch.dtype) -> Mapping[str, Mapping[str, str]]:
    """Backend of the selective scan, which `auto` leaves open."""
    assert isinstance(model, Muse)
    return scan_event(model.config.learner, device, dtype)


IMPLEMENTATION = Implementation(
    build=_build,
    task=frame_task,
    predict=predict,
    signature=signature,
    retrieval=JointSpace(check=_check, rows=embed_videos, queries=embed_words, arrays=encode_frames),
    events=_events,
)
