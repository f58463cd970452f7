"""What a run is: `TrainConfig`, its blocks, the base of the models that it may name, and rows of tables of presets.

A model's configuration knows its system, so that code which has a configuration needs no list of systems. Only where
one is made of plain values, `{"kind": "muse", …}`, must the kinds be known: `systems.system.Systems` reads those.
"""

import operator
from collections.abc import Callable, Mapping
from functools import lru_cache, reduce
from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, Protocol, TypeVar, get_args

from pydantic import (
    Field,
    NonNegativeFloat,
    PositiveFloat,
    SerializeAsAny,
    TypeAdapter,
    field_validator,
    model_validator,
)

from vtr_core.config.data_sets import BatchConfig, CaptionText, ConceptText, OnBadShard
from vtr_core.config.losses import MaskedMarginSoftmaxConfig, ObjectiveConfig
from vtr_core.config.override import ModelInputs, NonNegativeInt, PositiveInt, Settings

if TYPE_CHECKING:
    from vtr_core.systems.system import System


class TrainingConfig(Settings):
    """Length of training, intervals of logging, checkpoints and validation, early stopping, precision."""

    removed: ClassVar[Mapping[str, Any]] = {"compile": "auto"}

    epochs: PositiveInt = 20
    """Passes over all videos."""
    max_steps: PositiveInt | None = None
    """Maximum number of optimiser steps, whatever `epochs` is."""
    log_every: PositiveInt = 10
    """Steps between two logged points."""
    checkpoint_every: PositiveInt | None = None
    """Steps between two checkpoints, in addition to those at validations."""
    checkpoint_minutes: Annotated[float, Field(gt=0.0)] | None = 15.0
    """Minutes after which another checkpoint is written, wherever the run is then; None: only those of steps and
    validations."""
    keep_checkpoints: PositiveInt = 2
    """Number of newest checkpoints kept, in addition to the best one."""
    validate_every: PositiveInt = 1
    """Epochs between two validations."""
    metric: str = "val/t2v/sum_r"
    """Validation metric that selects the best checkpoint (higher is better)."""
    patience: PositiveInt | None = None
    """Early stopping: stop after this many validations without a gain."""
    max_nonfinite: PositiveInt = 10
    """Number of consecutive steps with a non-finite loss that ends the run."""
    ema_decay: Annotated[float, Field(gt=0.0, lt=1.0)] | None = None
    """Decay of an exponential moving average of the weights, which is validated and saved as the model."""
    compile: Literal["on", "off"] = "off"
    """Whether training steps run the model through torch.compile, which takes a minute or more at the first step: for
    `capsule-howto` at 4,096 rows a step on an H100 took 99 ms in the place of 131."""
    precision: Literal["auto", "bf16", "float32"] = "auto"
    """`auto`: bf16 where the device supports it. Similarities and losses are float32 in any case."""


Share = Annotated[float, Field(gt=0.0, le=1.0)]


class OptimizerConfig(Settings):
    """Adam with an optional warm-up and a schedule over all steps."""

    removed: ClassVar[Mapping[str, Any]] = {"language_factor": 1.0}

    algorithm: Literal["adam", "bert_adam"] = "adam"
    """`bert_adam`: Adam without bias corrections, as BERT was trained (Devlin et al. 2019) and CLIP4Clip is."""
    learning_rate: PositiveFloat = 1e-3
    """Peak learning rate: that after the warm-up, before the schedule lowers it."""
    learner_factor: PositiveFloat = 1.0
    """Factor of the learning rate for modules over precomputed tokens: MUSE's pyramid, temporal scales and learner."""
    backbone_factor: PositiveFloat = 1.0
    """Factor of the learning rate for a backbone that is trained with the model, such as CLIP or Video Swin."""
    layer_decay: Share = 1.0
    """Factor of the backbone's learning rate for each layer further from its output."""
    beta1: Annotated[float, Field(ge=0.0, lt=1.0)] = 0.9
    """Decay of Adam's mean of gradients."""
    beta2: Annotated[float, Field(ge=0.0, lt=1.0)] = 0.999
    """Decay of Adam's mean of squared gradients."""
    epsilon: PositiveFloat = 1e-8
    """Added to the root of that mean."""
    temperature_factor: PositiveFloat = 1.0
    """Factor of the learning rate for a learned log(1/τ): one number that has to go from 100 to 10 or back within a
    training, while a step of Adam moves it by the learning rate alone."""
    full_rate_width: PositiveInt | None = None
    """Fan-in up to which a matrix has the full learning rate; a wider one has the rate times this over its fan-in, so
    that a step of Adam changes its outputs by about as much (Yang et al. 2022, Table 3). None: one rate for all."""
    weight_decay: NonNegativeFloat = 0.0
    """Decoupled weight decay (AdamW)."""
    amsgrad: bool = False
    """AMSGrad: divide by the running maximum of the second moment (Reddi et al. 2018)."""
    schedule: Literal["constant", "cosine", "inverse_sqrt", "bert_cosine"] = "cosine"
    """`inverse_sqrt`: the rate over √t, t the steps since the warm-up, counted from 1. `bert_cosine`: as published with
    BERT's Adam, a warm-up from 0 and then the cosine over all steps, which is below the rate when it takes over."""
    warmup_steps: NonNegativeInt = 0
    """Steps at the start over which the learning rate rises linearly to its peak."""
    warmup_share: Annotated[float, Field(gt=0.0, lt=1.0)] | None = None
    """The warm-up as a share of all steps, instead of `warmup_steps`."""
    epoch_decay: Share = 1.0
    """Factor of the learning rate after every `decay_epochs` epochs, beside the schedule."""
    decay_epochs: PositiveInt = 1
    """Number of epochs after which the learning rate is multiplied by `epoch_decay`, each time anew."""
    plateau_decay: Share = 1.0
    """Factor of the learning rate after `plateau_patience` validations without a gain at the same rate."""
    plateau_patience: PositiveInt | None = None
    """Validations without a gain after which the rate is multiplied by `plateau_decay` (None: never)."""
    plateau: Literal["flat", "old_rate"] = "flat"
    """`old_rate`: it is multiplied at the first validation that is not the best once the rate is `plateau_patience`
    validations old, gains counted too, as in the published code of dual encoding (Dong et al. 2021)."""
    gradient_clip: PositiveFloat | None = None
    """Maximum norm of the whole gradient."""
    parameter_clip: PositiveFloat | None = None
    """Maximum norm of each parameter's gradient, after `gradient_clip`."""

    @model_validator(mode="after")
    def _fits(self) -> "OptimizerConfig":
        if self.amsgrad and self.algorithm == "bert_adam":
            raise ValueError("amsgrad is an option of algorithm = adam; leave it out with bert_adam")
        if self.warmup_steps and self.warmup_share is not None:
            raise ValueError(
                f"warmup_steps = {self.warmup_steps} and warmup_share = {self.warmup_share} are two lengths of one "
                "warm-up; give one of them"
            )
        return self

    def warmup(self, total_steps: int) -> float:
        """The length of the warm-up in steps."""
        return self.warmup_steps if self.warmup_share is None else self.warmup_share * total_steps


CLIP4CLIP_ADAM: Mapping[str, Any] = MappingProxyType(
    {
        "algorithm": "bert_adam",
        "beta2": 0.98,
        "epsilon": 2e-6,
        "schedule": "bert_cosine",
        "warmup_share": 0.1,
        "gradient_clip": 2.0,
        "parameter_clip": 2.0,
    }
)
"""As in CLIP4Clip's published code (Luo et al. 2021), whose ε is 1e-6 and whose norms are 1: its loss is the mean of
both cross-entropies and not their sum, so its gradients are half as long."""


ReadingNodes = Literal["auto", "labelled", "any"]
Wire = Literal["as_computed", "bf16"]


NumWorkers = Annotated[int, Field(gt=0, le=2**16)]


class ScalingConfig(Settings):
    """Workers and what each of them takes of the cluster."""

    workers: Annotated[int, Field(ge=0, le=2**16)] = 1
    """Number of training workers, among which the batch is divided. 0: train in the process of the command, without
    Ray."""
    min_workers: NumWorkers | None = None
    """Minimum number of workers with which the run continues when nodes leave; it grows again, up to `workers`, when
    they return (None: no resizing). The batch stays the same: only divisors of its rows are used. Dropout differs with
    the number."""
    device: Literal["auto", "cpu", "gpu"] = "auto"
    """`auto`: one GPU per worker where the cluster has GPUs."""
    cpus_per_worker: PositiveFloat = 1.0
    """CPUs reserved for a train worker."""
    reading_cpus: PositiveFloat = 1.0
    """CPUs that must remain free for Ray Data's reading tasks, on the nodes that `reading_nodes` allows."""
    reading_nodes: ReadingNodes = "auto"
    """Placement of reading tasks. `labelled`: on nodes labelled vtr-role=reading (`ray start --labels
    vtr-role=reading`), workers on the others. `any`: on any free CPUs. `auto`: as `labelled` where the cluster has such
    nodes when a worker group starts, else as `any`; the run prints its choice."""
    prefetch_batches: PositiveInt = 2
    """Minimum number of batches prefetched by every worker, in whole windows (batch.window)."""
    max_restarts: NonNegativeInt = 3
    """Maximum number of consecutive restarts from the same checkpoint after a lost worker or node. Restarts for a
    preempted node or for more workers do not count."""
    resources_timeout_s: PositiveFloat = 1800.0
    """Timeout of a run that has lost its workers and waits for resources; at its start a run waits without limit."""
    collective_timeout_s: PositiveFloat = 600.0
    """Timeout of collectives in a step, after which silent workers count as lost."""
    wire: Wire = "as_computed"
    """What embeddings and gradients are sent between workers in. `bf16`: half the bytes of float32; they are rounded,
    gradients summed in bf16 too, so that several workers no longer give exactly the losses of one."""
    resize_interval_s: PositiveFloat = 60.0
    """Minimum time that a group with fewer than `workers` workers trains before it is restarted with more."""

    @property
    def fewest(self) -> int:
        """The fewest workers that the run goes on with."""
        return self.workers if self.min_workers is None else self.min_workers

    @property
    def cpus(self) -> float:
        """CPUs of a cluster that a run takes, reading included; without Ray's workers its own process reads."""
        return self.workers * self.cpus_per_worker + self.reading_cpus if self.workers else self.cpus_per_worker

    @property
    def span(self) -> str:
        """The number of workers as text: 4, or 1-4."""
        return str(self.workers) if self.fewest == self.workers else f"{self.fewest}-{self.workers}"

    @model_validator(mode="after")
    def _min_is_not_above(self) -> "ScalingConfig":
        if self.fewest > self.workers:
            raise ValueError(
                f"scaling.min_workers = {self.min_workers} is more than scaling.workers = {self.workers}; "
                "scaling.workers is the largest number of workers"
            )
        return self


Normalisation = Literal["matrix", "query", "train"]


class EvaluationConfig(Settings):
    """How embeddings are compared at validation and test."""

    similarity: Literal["dot", "cosine", "neg_euclidean"] = "dot"
    """Similarity of two embeddings: dot product, cosine, or negative Euclidean distance."""
    batch_rows: PositiveInt = 1024
    """Rows embedded at once."""
    latent_weight: Annotated[float, Field(ge=0.0, le=1.0)] = 0.6
    """α of a hybrid score: α · latent + (1 − α) · concept, each rescaled to [0, 1]."""
    normalise: Normalisation = "query"
    """Range by which the scores of a hybrid score are rescaled, in evaluation, search, serving and explanations alike:
    that of the query, of the training batches, which the model keeps, or of all queries and items (`matrix`, published:
    every score depends on the whole test set; of a single query it is that of the query)."""


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


class Change(Settings):
    """Settings of a run that differ from those of another; only those count that it gives.

    They are as the classes above have them, so that a wrong name or value in a table of presets fails where it is
    written: `optimizer=OptimizerConfig(learning_rate=1e-4)` changes one.
    """

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
