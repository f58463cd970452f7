"""A captioner with what its data give it."""

from collections.abc import Mapping

import numpy as np

from vtr_core.data.reading.statistics import FeatureStatistics
from vtr_core.systems.captioning.config import CaptionerConfig
from vtr_core.systems.captioning.model import Captioner


def build(
    config: CaptionerConfig,
    vectors: np.ndarray | None,  # noqa: ARG001  all systems' are called alike
    statistics: Mapping[str, FeatureStatistics] | None,
) -> Captioner:
    """A captioner with fresh weights, also of the vectors of the words that it says; statistics: of its feature."""
    model = Captioner(config)
    if statistics is not None:
        model.load_statistics(statistics)
    return model
