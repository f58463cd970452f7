"""The code of a system: its model, its task of training, what it reads and embeds."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, runtime_checkable

import numpy as np
import pandas as pd
import torch
from torch import Tensor, nn

from vtr_core.config.run import TrainConfig
from vtr_core.data.captions import InformationTable
from vtr_core.data.concepts.concept_table import ConceptTable
from vtr_core.data.manifest import Manifest
from vtr_core.data.reading.feature_statistics import FeatureStatistics
from vtr_core.data.reading.row_groups import Columns
from vtr_core.systems.loaded_model import Descriptions, PairDecision, Responses, Signature, TrainedModel
from vtr_core.systems.spaces import DualSpaces, JointSpace
from vtr_core.text.tokens.vocabulary import Vocabulary

MOST_ROWS = 512
"""Maximum number of rows of a batch, from its start, in `Compared`."""


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
    chance: Callable[[], float | None] = lambda: None
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


NO_TABLES = LossTables()
"""Of a loss that needs batches alone."""


@dataclass(frozen=True)
class Implementation:
    """The torch functions of a system; None where its models do not support a use."""

    build: Callable[[Any, np.ndarray | None, Mapping[str, FeatureStatistics] | None], nn.Module]
    """A newly initialised model of a configuration; given word vectors (words, word_dim) of the vocabulary, and
    statistics of the training data's features, where it uses them. ConfigError for incompatible parts.
    """
    task: Callable[[TrainConfig, int, int, LossTables], Task]
    """The training task of worker `rank` of `world`, given the tables that its loss needs."""
    predict: Callable[[TrainedModel, pd.DataFrame], pd.DataFrame]
    """The output of a registered model for a table's rows; InputError for a missing column or an invalid value."""
    signature: Callable[[Any], Signature]
    """The input and output columns of a registered model of a configuration, and its description."""
    retrieval: JointSpace | DualSpaces | None = None
    """How captions and videos are embedded, for evaluation, index, search and explanations."""
    describe: Callable[[TrainedModel, str, Mapping[str, object], int], Descriptions] | None = None
    """Captions of a data set's videos with changed decoding settings, and a page with a number of examples."""
    decide: Callable[[TrainedModel, str, str, float | None, bool], PairDecision] | None = None
    """Decision whether two image files show the same subject: with a given threshold or the model's own, and with or
    without resizing to the model's image size.
    """
    events: Callable[[nn.Module, torch.device, torch.dtype], Mapping[str, Mapping[str, str]]] = lambda *_: {}
    """Choices that a model makes for a device, such as a backend, for the event log: values by event."""
    pretrained: Callable[[nn.Module], None] = lambda _: None
    """Puts given weights into a new model before training; it is not called for a model that a checkpoint restores."""
    compiles: Callable[[Any], bool] = lambda _: False
    """Whether a test shows that models of a configuration train alike when compiled: what `training.compile auto` asks.
    """
    responses: Callable[[TrainedModel, Manifest, Sequence[str], Collection[str]], Responses | None] = lambda *_: None
    """How strongly a model's units respond to texts and to items of a data set, by id, for explanations; None for a
    model without units to show.
    """
