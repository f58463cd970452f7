"""A configuration's model and task on the first batch of its data, and the memory that a step keeps for it."""

from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.autograd.graph import saved_tensors_hooks

from vtr_core.config.override import override
from vtr_core.config.run import TrainConfig
from vtr_core.data.concepts.concept_table import ConceptTable
from vtr_core.data.manifest import Manifest
from vtr_core.data.plan import Part, Plan
from vtr_core.data.reading.feature_statistics import feature_statistics
from vtr_core.data.reading.row_groups import Columns
from vtr_core.data.shards.word_table import WordTable
from vtr_core.data.stream.assemble import read_directly
from vtr_core.run.build import build_model, build_task
from vtr_core.run.inputs import training_reader
from vtr_core.systems.task import LossTables, Task
from vtr_core.train.training_labels import loss_tables


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
    system = config.model.system()
    words = WordTable.load(manifest)
    tables = loss_tables(config, manifest, words.vocabulary, labels)
    read = system.reads_features(config.model)
    statistics = feature_statistics(manifest, names=read) if system.standardizes(config.model) else None
    plan = Plan(manifest, config.batch, config.seed)
    reader = training_reader(config.model, manifest, plan.extra_captions)
    model = build_model(config.model, words.vectors, statistics)
    system.implementation().pretrained(model)
    return FirstBatch(model, next(read_directly(reader, plan, Part(0, 1), 0)), tables)


_VIDEOS = 8
"""Of the larger of the two batches that are measured; the other has half of them."""


@dataclass(frozen=True)
class ActivationMemory:
    """Bytes that do not depend on the batch, and bytes of each of its rows.

    An estimate from below: the similarities of a loss, which grow with the square of the rows, count as few rows have
    them, and what lives only within a layer does not count.
    """

    fixed: float
    per_row: float

    def of(self, rows: int) -> float:
        """Bytes of a batch."""
        return self.fixed + rows * self.per_row

    def rows_in(self, available: float) -> int:
        """How many rows fit into so many bytes."""
        return max(0, int((available - self.fixed) // self.per_row)) if self.per_row > 0 else 0


def activation_memory(config: TrainConfig, manifest: Manifest, labels: ConceptTable | None) -> ActivationMemory:
    """Measured on the CPU, in float32, with the first rows of the data; torch's generator is left as it was.

    config: with the data set's inputs; labels: the concept table of a model with a concept space.
    """
    videos, each = min(_VIDEOS, config.batch.videos), config.batch.clips_per_video
    config = override(config, {"batch.videos": videos, "scaling.workers": 1})
    with torch.random.fork_rng(devices=[]):
        found = first_batch(config, manifest, labels)
        whole = kept_bytes(found.model, found.task(config), found.columns)
        if videos < 2:
            return ActivationMemory(0.0, whole / each)
        few = videos // 2 * each
        part = {name: values[:few] for name, values in found.columns.items()}
        half = kept_bytes(found.model, found.task(override(config, {"batch.videos": videos // 2})), part)
    per_row = (whole - half) / (videos * each - few)
    return ActivationMemory(max(0.0, whole - per_row * videos * each), max(0.0, per_row))


def kept_bytes(model: nn.Module, task: Task, columns: Columns) -> int:
    """Bytes that the step on `columns` keeps for its backward pass: every storage once, the model's own not at all."""
    own = {tensor.untyped_storage().data_ptr() for tensor in [*model.parameters(), *model.buffers()]}
    kept: dict[int, Tensor] = {}

    def keep(tensor: Tensor) -> Tensor:
        place = tensor.untyped_storage().data_ptr()
        if place not in own:
            kept[place] = tensor  # held, so that no other tensor gets its place
        return tensor

    model.train()
    with saved_tensors_hooks(keep, lambda tensor: tensor):
        output = task.step(model, columns, 0, torch.device("cpu"))
    del output
    return sum(tensor.untyped_storage().nbytes() for tensor in kept.values())
