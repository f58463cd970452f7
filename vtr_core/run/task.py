"""The task that trains a configuration's model."""

from typing import assert_never

from vtr_core.data.captions.information import InformationTable
from vtr_core.data.concepts.table import ConceptTable
from vtr_core.run.config import TrainConfig
from vtr_core.systems.capsules.config import CapsuleNetConfig, FullyConnectedConfig, SelfAttentionBaselineConfig
from vtr_core.systems.captioning.config import CaptionerConfig
from vtr_core.systems.captioning.task import CaptioningTask
from vtr_core.systems.dual.config import HybridEncoderConfig
from vtr_core.systems.dual.task import DualEncodingTask
from vtr_core.systems.joint_space.task import RetrievalTask
from vtr_core.systems.muse.config import MuseConfig
from vtr_core.systems.siamese.config import SiameseConfig
from vtr_core.systems.siamese.task import VerificationTask
from vtr_core.systems.task import Task


def build_task(
    config: TrainConfig,
    rank: int,
    world: int,
    concepts: ConceptTable | None = None,
    information: InformationTable | None = None,
) -> Task:
    """The task of `config`'s system for worker `rank` of `world`.

    concepts: where it has a concept space; information: of the training captions, where its loss has their granularity
    as margin.
    """
    match config.model:
        case CapsuleNetConfig() | FullyConnectedConfig() | SelfAttentionBaselineConfig() | MuseConfig():
            return RetrievalTask(config, rank, world, information)
        case HybridEncoderConfig():
            return DualEncodingTask(config, rank, world, concepts, information)
        case SiameseConfig():
            return VerificationTask(config, rank, world)
        case CaptionerConfig():
            return CaptioningTask(config, rank, world, information)
        case _:
            assert_never(config.model)
