"""`System`: what a system offers. Generic code asks it and never asks what it is.

Its functions import models and tasks where they are called: configurations and `--help` need neither.
"""

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from vtr_core.config.losses.granularity import GranularityMarginConfig
from vtr_core.config.settings import Settings

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd
    import torch
    from torch import nn

    from vtr_core.data.captions.information import InformationTable
    from vtr_core.data.concepts.table import ConceptTable
    from vtr_core.data.manifest import Manifest
    from vtr_core.data.reading.statistics import FeatureStatistics
    from vtr_core.run.config import TrainConfig
    from vtr_core.run.space import Space
    from vtr_core.systems.task import Task
    from vtr_core.systems.use import Use
    from vtr_core.train.checkpoint.load import LoadedModel

    Build = Callable[[Any, np.ndarray | None, Mapping[str, FeatureStatistics] | None], nn.Module]
    """A model with fresh weights of its configuration; given word vectors (words, word_dim) of the vocabulary, and
    statistics of the training data's features, where it takes them. ConfigError for parts that do not fit together."""

Remark = Callable[[], str]
"""What is worth saying of figures without a mechanism, once they were computed."""
KnockOuts = Mapping[str, Callable[[], AbstractContextManager[Remark]]]
"""What can be switched off in a trained model, by name: within the context the model computes without it."""
RecordKind = Literal["clips", "videos", "images"]


@dataclass(frozen=True)
class Presets:
    """Complete configurations by name, and changes that make a variant, `<base>-<name>`, of each of them."""

    bases: Mapping[str, Callable[[], "TrainConfig"]]
    variants: tuple[str, ...]
    variant: Callable[["TrainConfig", str], "TrainConfig"]
    """The variant of a base by its name."""


def _nothing(*_: Any) -> None:
    """None, whatever it is asked of."""


def _never(*_: Any) -> bool:
    return False


def _no_knock_outs(*_: Any) -> KnockOuts:
    return {}


def _no_features(*_: Any) -> "Mapping[str, int]":
    return {}


def _no_events(*_: Any) -> "Mapping[str, Mapping[str, str]]":
    return {}


@dataclass(frozen=True)
class System:
    """A way from records to a trained model. Functions of a model or a loss take its configuration."""

    name: str
    """That of its folder."""
    configs: tuple[type[Settings], ...]
    """Its models' configurations; each has its `kind`."""
    reads: RecordKind
    """The records that it is trained on."""
    builder: "Callable[[], Build]"
    """Imports the model's code, and returns what makes a model."""
    task: "Callable[[TrainConfig, int, int, ConceptTable | None, InformationTable | None], Task]"
    """What trains it, for worker `rank` of `world`, with the labels and values that were prepared."""
    predict: "Callable[[LoadedModel, pd.DataFrame], pd.DataFrame]"
    """What a registered model makes of a table's rows; InputError where a column or a value is not what it takes."""
    use: "Callable[[Any], Use]"
    """How a registered model is used: its columns, and what its page says."""
    presets: Callable[[], Presets]
    spaces: "Callable[[], Mapping[str, Callable[[], Space]]]"
    """What sweeps vary, by name."""
    evaluation: str = "retrieval"
    """What `vtr evaluate --task` measures it by."""
    losses: tuple[type[Settings], ...] = ()
    """The configurations of losses of its own, which go with it alone, and it with them; () for a system of one joint
    space, which takes any contrastive loss."""
    check: "Callable[[TrainConfig], None]" = _nothing
    """ConfigError where parts of a configuration do not go together, beyond model and loss."""
    check_data: "Callable[[Manifest], None]" = _nothing
    """DatasetError for data that it cannot be trained on."""
    inputs: "Callable[[Manifest], dict[str, Any]] | None" = None
    """The settings that training data decide, by dotted name; None: features and words."""
    trained_vectors: Callable[[Any], str | None] = _nothing
    """The dotted name of a model's setting that says whether word vectors are trained, which data without vectors sets;
    None for a model that reads no given word vectors."""
    standardizes: Callable[[Any], bool] = _never
    """Whether a model keeps the training data's mean and deviation of its features."""
    num_concepts: Callable[[Any], int | None] = _nothing
    """How many concepts a model detects, of which it needs labels; None for a model without a concept space."""
    granularity: Callable[[Any], GranularityMarginConfig | None] = _nothing
    """A loss's margin from the captions' granularity, which needs their information content; None where it has none."""
    usual_features: "Callable[[Any], Mapping[str, int]]" = _no_features
    """The features that a model is usually trained on, by name with their dimension: for a look at it without data."""
    knock_outs: "Callable[[nn.Module], KnockOuts]" = _no_knock_outs
    """What `vtr evaluate --knock-out` can switch off in a model."""
    events: "Callable[[nn.Module, torch.device, torch.dtype], Mapping[str, Mapping[str, str]]]" = _no_events
    """What a model decides by itself on a device, for the log of a run: values by event."""


def margin_setting(loss: Any) -> GranularityMarginConfig | None:
    """The margin of a loss that has the setting `granularity_margin`."""
    margin: GranularityMarginConfig | None = loss.granularity_margin
    return margin
