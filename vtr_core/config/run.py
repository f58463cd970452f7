"""`TrainConfig`, the complete configuration of a training run, and the base of the models that it may name.

A model's configuration knows its system, so that code which has a configuration needs no list of systems. Only where
one is made of plain values, `{"kind": "muse", …}`, must the kinds be known: `systems.registry.Systems` reads those.
"""

import operator
from collections.abc import Mapping
from functools import lru_cache, reduce
from typing import TYPE_CHECKING, Annotated, Any, Protocol, get_args

from pydantic import Field, SerializeAsAny, TypeAdapter, field_validator, model_validator

from vtr_core.config.data_sets import BatchConfig, CaptionText, ConceptText, OnBadShard
from vtr_core.config.losses import MaskedMarginSoftmaxConfig, ObjectiveConfig
from vtr_core.config.settings import ModelInputs, Settings
from vtr_core.config.training import EvaluationConfig, OptimizerConfig, ScalingConfig, TrainingConfig

if TYPE_CHECKING:
    from vtr_core.systems.system import System


class ModelConfig(Settings):
    """Base of the configuration of a model, which adds `kind`, its tag, and `inputs`."""

    if TYPE_CHECKING:
        kind: str
        """The tag of the model among those of all systems."""
        inputs: ModelInputs
        """Features and vocabulary of the training data."""

    @classmethod
    def system(cls) -> "System":
        """The system that the model belongs to."""
        raise NotImplementedError(f"{cls.__name__} must name its system")


if TYPE_CHECKING:

    class LossConfig(Protocol):
        """Interface of a loss's configuration in code that knows no system."""

        @property
        def kind(self) -> str:
            """The tag of the loss among those of its system."""
            ...
else:
    LossConfig = SerializeAsAny[Settings]

Kinds = tuple[type[Settings], ...]
"""Classes that are told apart by their `kind`."""


def one_of(kinds: Kinds) -> Any:
    """The type of a value of one of these classes, as pydantic takes it."""
    return kinds[0] if len(kinds) == 1 else Annotated[reduce(operator.or_, kinds), Field(discriminator="kind")]


def loss_kinds(model: ModelConfig) -> Kinds:
    """The losses that a model takes: those of its system alone, or, where it has none, all of one joint space."""
    return model.system().losses or get_args(ObjectiveConfig)


def tags(kinds: Kinds) -> str:
    """Their tags, for messages."""
    return " or ".join(repr(config.model_fields["kind"].default) for config in kinds)


def unfit_loss(model: ModelConfig, kind: str) -> str:
    """The message for a loss that a model does not take."""
    system, pair = model.system(), f"model.kind = {model.kind!r} with loss.kind = {kind!r}"
    if system.losses:
        return f"{pair}: {tags(system.configs)} and {tags(system.losses)} go together, and with no other"
    return f"{pair}: {tags(system.configs)} takes a loss of one joint space, {tags(loss_kinds(model))}"


@lru_cache(maxsize=64)
def _reader(kinds: Kinds) -> TypeAdapter:
    return TypeAdapter(one_of(kinds))


class TrainConfig(Settings):
    """The configuration of a run, without its data; a preset is one with a name."""

    preset: Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,199}$")] = "custom"
    """The preset that this configuration started from; it becomes part of file names."""
    seed: Annotated[int, Field(ge=0, lt=2**63)] = 0
    """Random seed of the initial weights, the batches and dropout."""
    on_bad_shard: OnBadShard = "fail"
    """When a shard's row group cannot be read or fails its checksum: `fail` ends the run, `skip` puts rows of the
    batch's next row group in place of its rows, and counts them."""
    model: SerializeAsAny[ModelConfig]
    loss: LossConfig = MaskedMarginSoftmaxConfig()
    batch: BatchConfig = BatchConfig()
    optimizer: OptimizerConfig = OptimizerConfig()
    training: TrainingConfig = TrainingConfig()
    scaling: ScalingConfig = ScalingConfig()
    evaluation: EvaluationConfig = EvaluationConfig()
    captions: CaptionText = CaptionText()
    """How the training data's captions must have become words."""
    concepts: ConceptText = ConceptText()
    """How the concept table must have been made."""

    @property
    def worker_counts(self) -> tuple[int, ...]:
        """The numbers of workers that the run may go on with, ascending: those that divide a batch's rows."""
        span = range(max(1, self.scaling.fewest), self.scaling.workers + 1)
        return tuple(count for count in span if self.batch.rows % count == 0)

    @property
    def validation_context(self) -> Mapping[str, Any]:
        """Changes may choose another model of the same system; another system is another preset."""
        return {"models": self.model.system().configs}

    @field_validator("model", mode="before")
    @classmethod
    def _model_of_its_kind(cls, value: Any, info: Any) -> Any:
        """Plain values as the class that their `kind` names, of those in the context of the validation."""
        if not isinstance(value, Mapping):
            return value
        if not info.context:
            raise ValueError("a model of plain values is read by what knows its kind, as Systems.config(values) does")
        return _reader(info.context["models"]).validate_python(value)

    @field_validator("loss", mode="before")
    @classmethod
    def _loss_of_the_model(cls, value: Any, info: Any) -> Any:
        """Plain values as one of the losses that the model takes."""
        model = info.data.get("model")
        if not isinstance(value, Mapping) or model is None:
            return value
        kinds = loss_kinds(model)
        if "kind" in value and value["kind"] not in [config.model_fields["kind"].default for config in kinds]:
            raise ValueError(unfit_loss(model, str(value["kind"])))
        return _reader(kinds).validate_python(value)

    @model_validator(mode="after")
    def _rows_divide(self) -> "TrainConfig":
        for name, count in (("workers", self.scaling.workers), ("min_workers", self.scaling.fewest)):
            if count and self.batch.rows % count:
                divisors = [n for n in range(1, min(self.batch.rows, 4 * count) + 1) if self.batch.rows % n == 0]
                near = sorted(divisors, key=lambda n: abs(n - count))[:3]
                raise ValueError(
                    f"batch.videos × batch.clips_per_video = {self.batch.rows} rows cannot be divided by "
                    f"scaling.{name} = {count}; choose a batch size that is a multiple of the workers, "
                    f"or {', '.join(map(str, sorted(near)))} workers"
                )
        return self
