"""The task that trains a configuration's model."""

from vtr_core.data.captions.information import InformationTable
from vtr_core.data.concepts.table import ConceptTable
from vtr_core.run.config import TrainConfig
from vtr_core.run.models import system_of
from vtr_core.run.parts import check_parts
from vtr_core.systems.task import Task


def build_task(
    config: TrainConfig,
    rank: int,
    world: int,
    concepts: ConceptTable | None = None,
    information: InformationTable | None = None,
) -> Task:
    """The task of `config`'s system for worker `rank` of `world`.

    concepts: for a model with a concept space; information: of the training captions, for a loss with a granularity
    margin. Raises ConfigError for a configuration whose parts do not fit together.
    """
    check_parts(config)
    return system_of(config.model).implementation().task(config, rank, world, concepts, information)
