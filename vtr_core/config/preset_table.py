"""Rows of a table of presets: whole configurations, and named changes to each of them.

A row holds settings as the classes of `vtr_core.config` have them, so that a wrong name or value fails where it is
written. Only the settings count that it gives: `optimizer=OptimizerConfig(learning_rate=1e-4)` changes one.
"""

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from vtr_core.config.data_sets import BatchConfig, CaptionText, ConceptText
from vtr_core.config.override import Settings
from vtr_core.config.run import (
    EvaluationConfig,
    ModelConfig,
    OptimizerConfig,
    ScalingConfig,
    TrainConfig,
    TrainingConfig,
)


class Change(Settings):
    """Settings of a run that differ from those of another."""

    model: ModelConfig | None = None
    loss: Settings | None = None
    batch: BatchConfig = BatchConfig()
    optimizer: OptimizerConfig = OptimizerConfig()
    training: TrainingConfig = TrainingConfig()
    scaling: ScalingConfig = ScalingConfig()
    evaluation: EvaluationConfig = EvaluationConfig()
    captions: CaptionText = CaptionText()
    concepts: ConceptText = ConceptText()


class Row(Change):
    """A base, or a variant of every base, with what a list of presets says of it."""

    about: str
    """One line."""
    like: tuple[str, ...] = ()
    """Rows of the same table whose settings it has too, where it does not give its own."""
    of_model: Callable[[Any], Change] | None = None
    """Further changes, by the model's configuration: half its capsules, another routing of the same width."""
    of_run: Callable[[TrainConfig], Change] | None = None
    """Further changes, by the whole configuration: the loss and the optimizer that a model is published with."""
    starter: bool = False
    """Whether `vtr train --help` shows it."""
    varied: bool = True
    """Whether the table's variants are made of it, too."""


def base_config(table: Mapping[str, Row], base: str, name: str) -> TrainConfig:
    """The configuration of a base, under the name of a preset."""
    first = table[base]
    while first.like:
        first = table[first.like[0]]
    assert first.model is not None, f"the base {base} has no model"
    return applied(TrainConfig(preset=name, model=first.model), table, base)


def applied(config: TrainConfig, table: Mapping[str, Row], name: str) -> TrainConfig:
    """A configuration with the settings of a row.

    Raises pydantic's ValidationError where settings do not go together.
    """
    row = table[name]
    for other in row.like:
        config = applied(config, table, other)
    if row.of_model is not None:
        config = changed(config, row.of_model(config.model))
    if row.of_run is not None:
        config = changed(config, row.of_run(config))
    return changed(config, row)


S = TypeVar("S", bound=Settings)


def changed(config: S, change: Settings) -> S:
    """`config` with the settings that `change` gives, at any depth; one of another class replaces the whole group."""
    settings = {name: getattr(change, name) for name in change.model_fields_set & type(config).model_fields.keys()}
    merged = {
        name: changed(getattr(config, name), value)
        for name, value in settings.items()
        if isinstance(value, Settings) and type(getattr(config, name)) is type(value)
    }
    return type(config)(**{**dict(config), **settings, **merged})
