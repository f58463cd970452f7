"""The memory that a training step keeps for its backward pass, measured on a few rows."""

from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.autograd.graph import saved_tensors_hooks

from vtr_core.config.override import override
from vtr_core.data.concepts.table import ConceptTable
from vtr_core.data.manifest import Manifest
from vtr_core.data.reading.row_groups import Columns
from vtr_core.run.config import TrainConfig
from vtr_core.systems.task import Task
from vtr_core.train.first_batch import first_batch

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
