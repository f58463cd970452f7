"""Interface between a system and the training loop: the loss of a batch, the metrics of a validation set."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Protocol, runtime_checkable

import torch
from torch import Tensor, nn

from vtr_core.data.manifest import Manifest
from vtr_core.data.reading.row_groups import Columns
from vtr_core.text.tokens.vocabulary import Vocabulary

MOST_ROWS = 512
"""Rows of a batch, the first ones, that `Compared` is about."""


def _unknown() -> None:
    """No chance level."""


@dataclass(frozen=True)
class Compared:
    """Embeddings and similarities that a loss compared in a step, for the first rows of the batch, for monitoring.

    What costs something is computed where it is asked for.
    """

    vectors: Mapping[str, Tensor] = field(default_factory=dict)
    """By modality or space, detached: (rows, dim) of the rows that have it."""
    scores: Mapping[str, Callable[[], Tensor]] = field(default_factory=dict)
    """By pair of them: (rows, items) similarities as the loss sees them, in units of its temperature or margin."""
    is_bounded: bool = False
    """Whether scores are those of vectors of length 1 over a margin, whose deviation is no matter of scale."""
    chance: Callable[[], float | None] = _unknown
    """The loss of the whole batch if all vectors were alike; None where that says nothing."""


@dataclass(frozen=True)
class StepOutput:
    """The loss of the whole batch, equal on every worker, and metrics to log."""

    loss: Tensor
    metrics: Mapping[str, float | Tensor] = field(default_factory=dict)
    compared: Compared = field(default_factory=Compared)


@runtime_checkable
class Task(Protocol):
    """One system's part of training."""

    @property
    def objective(self) -> nn.Module:
        """The loss as a module: its parameters, for instance a learnable temperature, are trained with the model's."""
        ...

    def step(self, model: nn.Module, columns: Columns, step: int, device: torch.device) -> StepOutput:
        """The loss of the batch of which `columns` is this worker's part, at optimiser step `step`."""
        ...

    def evaluate(self, model: nn.Module, manifest: Manifest, vocabulary: Vocabulary) -> dict[str, float]:
        """Figures of a validation set, computed by all workers together and equal on all of them, as `val/…`."""
        ...
