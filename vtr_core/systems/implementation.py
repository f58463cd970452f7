"""The torch part of a system: an `Implementation`, imported when a model is built, trained or used."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import torch
from torch import Tensor, nn

from vtr_core.config.run import TrainConfig
from vtr_core.data.manifest import Manifest
from vtr_core.data.reading.feature_statistics import FeatureStatistics
from vtr_core.systems.loaded_model import Descriptions, PairDecision, Responses, Signature, TrainedModel
from vtr_core.systems.spaces import DualSpaces, JointSpace
from vtr_core.systems.system import LossTables, Task


def _no_events(*_: Any) -> Mapping[str, Mapping[str, str]]:
    return {}


def _nothing(*_: Any) -> None:
    """Nothing is done, and None returned."""


def _as_they_are(weights: dict[str, Tensor]) -> dict[str, Tensor]:
    return weights


def _unknown(*_: Any) -> bool:
    return False


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
    events: Callable[[nn.Module, torch.device, torch.dtype], Mapping[str, Mapping[str, str]]] = _no_events
    """Choices that a model makes for a device, such as a backend, for the event log: values by event."""
    pretrained: Callable[[nn.Module], None] = _nothing
    """Puts given weights into a new model before training; it is not called for a model that a checkpoint restores."""
    current_names: Callable[[dict[str, Tensor]], dict[str, Tensor]] = _as_they_are
    """The weights of a checkpoint under today's names, where earlier versions had others."""
    compiles: Callable[[Any], bool] = _unknown
    """Whether a test shows that models of a configuration train alike when compiled: what `training.compile auto` asks.
    """
    responses: Callable[[TrainedModel, Manifest, Sequence[str], Collection[str]], Responses | None] = _nothing
    """How strongly a model's units respond to texts and to items of a data set, by id, for explanations; None for a
    model without units to show.
    """
