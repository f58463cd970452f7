"""A Siamese network with fresh weights."""

from collections.abc import Mapping

import numpy as np

from vtr_core.data.reading.statistics import FeatureStatistics
from vtr_core.systems.siamese.config import SiameseConfig
from vtr_core.systems.siamese.model import Siamese


def build(
    config: SiameseConfig,
    vectors: np.ndarray | None,  # noqa: ARG001  all systems' are called alike
    statistics: Mapping[str, FeatureStatistics] | None,  # noqa: ARG001
) -> Siamese:
    """A network, which takes nothing of its data."""
    return Siamese(config)
