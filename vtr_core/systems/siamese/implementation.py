"""`Implementation` of Siamese networks."""

from collections.abc import Mapping

import numpy as np

from vtr_core.data.reading.statistics import FeatureStatistics
from vtr_core.run.config import TrainConfig
from vtr_core.systems.implementation import Implementation
from vtr_core.systems.loss_tables import LossTables
from vtr_core.systems.siamese.config import SiameseConfig
from vtr_core.systems.siamese.decision import decide
from vtr_core.systems.siamese.knock_outs import knock_outs
from vtr_core.systems.siamese.model import Siamese
from vtr_core.systems.siamese.served import predict
from vtr_core.systems.siamese.signature import signature
from vtr_core.systems.siamese.task import VerificationTask


def _build(
    config: SiameseConfig,
    vectors: np.ndarray | None,  # noqa: ARG001  all systems' are called alike
    statistics: Mapping[str, FeatureStatistics] | None,  # noqa: ARG001
) -> Siamese:
    """A newly initialised network, which needs no word vectors or statistics."""
    return Siamese(config)


def _task(
    config: TrainConfig,
    rank: int,
    world: int,
    tables: LossTables,  # noqa: ARG001  all systems' are called alike
) -> VerificationTask:
    return VerificationTask(config, rank, world)


IMPLEMENTATION = Implementation(
    build=_build, task=_task, predict=predict, signature=signature, decide=decide, knock_outs=knock_outs
)
