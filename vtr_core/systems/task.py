"""Interface between a system and the training loop: a batch's loss, what losses look up, validation."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Protocol, runtime_checkable

import torch
from torch import Tensor, nn

from vtr_core.data.captions import InformationTable, ReferenceTable
from vtr_core.data.concepts.concept_table import ConceptTable
from vtr_core.data.manifest import Manifest
from vtr_core.data.reading.row_groups import Columns
from vtr_core.text.tokens.vocabulary import Vocabulary

MOST_ROWS = 512
"""Maximum number of rows of a batch, from its start, in `Compared`."""


def _unknown() -> None:
    """No chance level."""


@dataclass(frozen=True)
class Compared:
    """Embeddings and similarities that a loss compared in a step, for the first rows of the batch, for monitoring.

    Expensive values are computed on request.
    """

    vectors: Mapping[str, Tensor] = field(default_factory=dict)
    """By modality or space, detached: (rows, dim) over the rows that have it."""
    scores: Mapping[str, Callable[[], Tensor]] = field(default_factory=dict)
    """By pair of modalities or spaces: (rows, items) similarities as in the loss, in units of its temperature or
    margin.
    """
    is_bounded: bool = False
    """Whether scores are those of unit vectors over a margin, whose deviation does not depend on scale."""
    chance: Callable[[], float | None] = _unknown
    """The loss of the whole batch if all vectors were equal; None where it is not informative."""


@dataclass(frozen=True)
class StepOutput:
    """The loss of the whole batch, equal on every worker, and metrics to log."""

    loss: Tensor
    metrics: Mapping[str, float | Tensor] = field(default_factory=dict)
    compared: Compared = field(default_factory=Compared)


@runtime_checkable
class Task(Protocol):
    """Training part of a system."""

    @property
    def objective(self) -> nn.Module:
        """The loss as a module: its parameters, for instance a learnable temperature, are trained with the model's."""
        ...

    def step(self, model: nn.Module, columns: Columns, step: int, device: torch.device) -> StepOutput:
        """The loss of the batch of which `columns` is this worker's part, at optimiser step `step`."""
        ...

    def evaluate(self, model: nn.Module, manifest: Manifest, vocabulary: Vocabulary) -> dict[str, float]:
        """Metrics of a validation set, computed by all workers together and equal on all of them, as `val/…`."""
        ...


@dataclass(frozen=True)
class LossTables:
    """Tables of the training data's captions; None where a configuration's loss needs none."""

    concepts: ConceptTable | None = None
    """The soft labels of a model with a concept space."""
    information: InformationTable | None = None
    """The information content of captions, for a granularity margin."""
    references: ReferenceTable | None = None
    """All captions of every clip, for a loss that scores generated captions."""


NO_TABLES = LossTables()
"""Of a loss that needs batches alone."""
