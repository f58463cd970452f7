"""The task that trains a configuration's model."""

from typing import assert_never

from vtr_core.config.captioner import CaptionerConfig
from vtr_core.config.dual_encoder import HybridEncoderConfig
from vtr_core.config.model import CapsuleNetConfig, FullyConnectedConfig, SelfAttentionBaselineConfig
from vtr_core.config.muse import MuseConfig
from vtr_core.config.siamese import SiameseConfig
from vtr_core.config.train import TrainConfig
from vtr_core.data.captions.information import InformationTable
from vtr_core.data.concepts.table import ConceptTable
from vtr_core.train.task import Task
from vtr_core.train.tasks.captioning import CaptioningTask
from vtr_core.train.tasks.dual_encoding import DualEncodingTask
from vtr_core.train.tasks.retrieval import RetrievalTask
from vtr_core.train.tasks.verification import VerificationTask


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
