"""The task that trains a configuration's model."""

from vtr_core.run.config import TrainConfig
from vtr_core.run.models import system_of
from vtr_core.run.parts import check_parts
from vtr_core.systems.loss_tables import NO_TABLES, LossTables
from vtr_core.systems.task import Task


def build_task(config: TrainConfig, rank: int, world: int, tables: LossTables = NO_TABLES) -> Task:
    """The task of `config`'s system for worker `rank` of `world`, with the tables that its loss needs.

    Raises ConfigError for a configuration whose parts do not fit together.
    """
    check_parts(config)
    return system_of(config.model).implementation().task(config, rank, world, tables)
