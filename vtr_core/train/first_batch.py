"""A configuration's model with its initial weights, its task, and the first batch of its training data."""

from dataclasses import dataclass

from torch import nn

from vtr_core.data.concepts.table import ConceptTable
from vtr_core.data.manifest import Manifest
from vtr_core.data.plan.plan import Part, Plan
from vtr_core.data.reading.row_groups import Columns
from vtr_core.data.reading.statistics import feature_statistics
from vtr_core.data.shards.word_table import WordTable
from vtr_core.data.stream.direct import read_directly
from vtr_core.run.build import build_model
from vtr_core.run.config import TrainConfig
from vtr_core.run.inputs import training_reader
from vtr_core.run.models import system_of
from vtr_core.run.task import build_task
from vtr_core.systems.loss_tables import LossTables
from vtr_core.systems.task import Task
from vtr_core.train.loss_tables import loss_tables


@dataclass(frozen=True)
class FirstBatch:
    """What a single worker begins with."""

    model: nn.Module
    columns: Columns
    tables: LossTables

    def task(self, config: TrainConfig) -> Task:
        """The task of `config`, that of the model with batches of any size."""
        return build_task(config, 0, 1, self.tables)


def first_batch(config: TrainConfig, manifest: Manifest, labels: ConceptTable | None) -> FirstBatch:
    """The model of `config`, whose inputs are those of the data set, from torch's generator and given weights; batch 0.

    labels: the concept table of a model with a concept space.
    """
    system = system_of(config.model)
    words = WordTable.load(manifest)
    tables = loss_tables(config, manifest, words.vocabulary, labels)
    read = system.reads_features(config.model)
    statistics = feature_statistics(manifest, names=read) if system.standardizes(config.model) else None
    plan = Plan(manifest, config.batch, config.seed)
    reader = training_reader(config.model, manifest, plan.extra_captions)
    model = build_model(config.model, words.vectors, statistics)
    system.implementation().pretrained(model)
    return FirstBatch(model, next(read_directly(reader, plan, Part(0, 1), 0)), tables)
