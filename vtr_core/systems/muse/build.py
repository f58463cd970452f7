"""MUSE with what its data give it."""

from collections.abc import Mapping

import numpy as np
import torch

from vtr_core.data.reading.statistics import FeatureStatistics
from vtr_core.systems.muse.config import MuseConfig
from vtr_core.systems.muse.model import Muse


def build(
    config: MuseConfig,
    vectors: np.ndarray | None,
    statistics: Mapping[str, FeatureStatistics] | None,
) -> Muse:
    """A model with fresh weights; vectors: (words, word_dim) of the vocabulary, for an encoder of words."""
    assert statistics is None, "frames are taken as they are"
    model = Muse(config)
    if vectors is not None and model.words is not None:
        model.words.load_word_vectors(torch.from_numpy(vectors.copy()))
    return model
