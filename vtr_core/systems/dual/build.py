"""A dual encoder with what its data give it."""

from collections.abc import Mapping

import numpy as np
import torch

from vtr_core.data.reading.statistics import FeatureStatistics
from vtr_core.systems.dual.config import HybridEncoderConfig
from vtr_core.systems.dual.model import HybridEncoder


def build(
    config: HybridEncoderConfig,
    vectors: np.ndarray | None,
    statistics: Mapping[str, FeatureStatistics] | None,
) -> HybridEncoder:
    """An encoder with fresh weights; vectors: (words, word_dim) of the vocabulary."""
    assert statistics is None, "frames are taken as they are"
    model = HybridEncoder(config)
    if vectors is not None:
        model.words.load_word_vectors(torch.from_numpy(vectors.copy()))
    return model
