"""The task that trains a configuration's model."""

from typing import assert_never

from vtr_core.config.model import CapsuleNetConfig, FullyConnectedConfig, SelfAttentionBaselineConfig
from vtr_core.config.train import TrainConfig
from vtr_core.train.task import Task
from vtr_core.train.tasks.retrieval import RetrievalTask


def build_task(config: TrainConfig, rank: int, world: int) -> Task:
    """The task of `config`'s system for worker `rank` of `world`."""
    match config.model:
        case CapsuleNetConfig() | FullyConnectedConfig() | SelfAttentionBaselineConfig():
            return RetrievalTask(config, rank, world)
        case _:
            assert_never(config.model)
