"""`System`: the interface of a system, on which generic code depends; `Systems`: those of a process, handed down.

The list itself is `systems/all.py`; commands have theirs from `pipelines/systems/registry.py`, notebooks from `api.py`.
Ray's workers get the value that their driver has.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from importlib import import_module
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from pydantic import create_model

from vtr_core.config.losses import GranularityMarginConfig, ObjectiveConfig
from vtr_core.config.override import ModelInputs, Settings, validate
from vtr_core.config.preset_table import Row
from vtr_core.config.run import TrainConfig, one_of
from vtr_core.errors import ConfigError, DatasetError

if TYPE_CHECKING:
    from vtr_core.config.search_space import Space
    from vtr_core.data.manifest import Manifest
    from vtr_core.encoders.encoder import Encoder
    from vtr_core.systems.implementation import Implementation


@dataclass(frozen=True)
class Subcommand:
    """A part of a command, with its own flags."""

    name: str
    """The name on the command line."""
    summary: str
    """Lines of the command's help."""
    run: Callable[[Sequence[str]], None]
    """Runs it with the command's other arguments; modules are imported only then, so that help is fast."""


@dataclass(frozen=True)
class Evaluation(Subcommand):
    """A task of `vtr evaluate --task <name>`."""

    figures: Callable[[str, str, str, str], Mapping[str, float]] | None = None
    """Metrics of a checkpoint on a data set, by name with a prefix, logged to an experiment; for rows of tables."""


RecordKind = Literal["clips", "videos", "images", "frames"]


@dataclass(frozen=True)
class Presets:
    """The presets of a system: the table that their names and settings are made of, and search spaces of sweeps."""

    bases: Mapping[str, Row]
    variants: Mapping[str, Row] = field(default_factory=dict)
    """Changes to each base: the preset `<base>-<variant>`."""
    recipes: Mapping[str, Row] = field(default_factory=dict)
    """Ways to train a base and each of its variants: `<base>-<recipe>` and `<base>-<recipe>-<variant>`."""
    spaces: "tuple[Space, ...]" = ()
    """Search spaces, each with a name of its own."""
    most_used: tuple[str, ...] = ()
    """Settings that a preset's help shows beside those of every training, by dotted name; others of its models and
    losses follow until there are twenty.
    """
    own_settings: tuple[str, ...] = ()
    """Settings and groups that every configuration has and only its models read; help of other systems leaves them out.
    """


def _nothing(*_: Any) -> None:
    """Always None."""


def never(*_: Any) -> bool:
    """Always False."""
    return False


def always(*_: Any) -> bool:
    """Always True."""
    return True


def _all(*_: Any) -> Sequence[str]:
    return ()


def _no_values(*_: Any) -> dict[str, Any]:
    return {}


def imported(module: str, name: str) -> Callable[[], Any]:
    """Imports a module only when it is called, and returns what has the name there: configurations need no torch."""
    return partial(_of_module, module, name)


def called(module: str, name: str) -> Callable[..., Any]:
    """The function of this name, whose module is imported only when it is called."""
    return partial(_call, module, name)


def _of_module(module: str, name: str) -> Any:
    return getattr(import_module(module), name)


def _call(module: str, name: str, *arguments: Any) -> Any:
    return _of_module(module, name)(*arguments)


@dataclass(frozen=True)
class System:
    """The parts of a system, from records to a trained model. Functions of a model or a loss take its configuration."""

    name: str
    """The name of its folder."""
    configs: tuple[type[Settings], ...]
    """The configurations of its models, each with its own `kind`."""
    reads: RecordKind
    """The kind of records that its models are trained on."""
    implementation: "Callable[[], Implementation]"
    """Imports and returns its torch part."""
    presets: Callable[[], Presets]
    used_by: str = "vtr evaluate, vtr index, vtr search and vtr explain"
    """The commands that its models support, for the error of an unsupported one."""
    evaluation: str = "retrieval"
    """The default task of `vtr evaluate --task` for its models."""
    evaluations: tuple[Evaluation, ...] = ()
    """Tasks of `vtr evaluate`, in addition to those that all systems share."""
    tables: tuple[Subcommand, ...] = ()
    """Papers of `vtr tables`."""
    analyses: tuple[Subcommand, ...] = ()
    """Subcommands of `vtr analyze`."""
    explanations: tuple[Subcommand, ...] = ()
    """Flags of `vtr explain`; each runs with all arguments."""
    imports: tuple[Subcommand, ...] = ()
    """Kinds of published checkpoints that `vtr import` takes."""
    losses: tuple[type[Settings], ...] = ()
    """The configurations of the losses that only its models take, and require; () for a system of one joint space,
    which takes any contrastive loss.
    """
    check: "Callable[[TrainConfig], None]" = _nothing
    """ConfigError for incompatible parts of a configuration, beyond model and loss."""
    check_data: "Callable[[Manifest], None]" = _nothing
    """DatasetError for data that it cannot be trained on."""
    reads_instead: Callable[[Any], RecordKind | None] = _nothing
    """The kind of records that a model is trained on, where it is another than `reads`."""
    inputs: "Callable[[Manifest, Any], dict[str, Any] | None]" = _nothing
    """The settings of a model that the training data determines, by dotted name; None: features and words."""
    of_source: Callable[[Any], dict[str, Any]] = _no_values
    """The settings of a model that its pretrained source decides, by dotted name; read when a run starts."""
    trained_vectors: Callable[[Any], str | None] = _nothing
    """The dotted name of a model's setting that says whether word vectors are trained, set automatically for data
    without vectors; None for a model that reads no given word vectors.
    """
    standardizes: Callable[[Any], bool] = never
    """Whether a model stores the training data's mean and standard deviation of its features."""
    reads_texts: Callable[[Any], bool] = never
    """Whether a model reads captions as texts, by a pretrained encoder, instead of the words of its training data."""
    reads_words_too: bool = False
    """Whether its models that read texts read the words of the training data as well."""
    text_encoder: str | None = None
    """The dotted name of the setting that records the text encoder of a model that reads texts, filled in when a run
    starts; None: none."""
    reads_unknown_words: bool = False
    """Whether its models read the token of an unknown word, `<unk>`."""
    num_concepts: Callable[[Any], int | None] = _nothing
    """Number of concepts that a model detects and needs labels of; None for a model without a concept space."""
    granularity: Callable[[Any], GranularityMarginConfig | None] = _nothing
    """A loss's granularity margin, which needs the captions' information content; None if it has none."""
    usual_features: "Callable[[Any], Mapping[str, int]]" = _no_values
    """The usual training features of a model, name to dimension, for inspecting it without data."""

    takes: Callable[[Any], Sequence[str]] = _all
    """The features that a model takes, of those of the training data; () for all."""
    reads_features: Callable[[Any], Sequence[str] | None] = _nothing
    """The features, of those of the data, that training reads for a model; None: all."""
    reads_means: Callable[[Any], bool] = always
    """Whether training reads the means of a model's features over all frames of whole videos."""

    zero_shot: "Callable[[Encoder], TrainConfig] | None" = None
    """The configuration of a pretrained encoder as it is, for the one system that begins there."""

    def records(self, model: Any) -> RecordKind:
        """The kind of records that a model is trained on."""
        return self.reads_instead(model) or self.reads

    @property
    def kinds(self) -> tuple[str, ...]:
        """The kinds of its models."""
        return tuple(config.model_fields["kind"].default for config in self.configs)


def columns(model: Any) -> Sequence[str]:
    """The features that a configuration with the property `columns` says its model reads."""
    read: Sequence[str] = model.columns
    return read


T = TypeVar("T")


def by_name(pairs: Iterable[tuple[str, T]], kind: str) -> MappingProxyType[str, T]:
    """The values by name; ConfigError where two systems define the same name."""
    values: dict[str, T] = {}
    for name, value in pairs:
        if name in values:
            raise ConfigError(f"two systems have {kind} called {name!r}; rename one, or uninstall the package it is of")
        values[name] = value
    return MappingProxyType(values)


def picture_inputs(manifest: "Manifest", model: object = None) -> dict[str, Any]:  # noqa: ARG001  as `System.inputs`
    """`model.inputs` and `model.stored_size`; DatasetError for frames that are not square."""
    from vtr_core.data.records.schema import require_frames

    schema = require_frames(manifest.schema, manifest.uri)
    if schema.height != schema.width:
        shown = f"{schema.height} × {schema.width}"
        raise DatasetError(f"{manifest.uri} has frames of {shown} pixels; extract square ones with vtr extract")
    inputs = ModelInputs(num_words=manifest.vocabulary.num_words, max_words=schema.max_words)
    return {"model.inputs": inputs.model_dump(), "model.stored_size": schema.height}


@dataclass(frozen=True)
class Systems:
    """Some systems, in the order in which presets, search spaces and settings are listed."""

    systems: tuple[System, ...]

    def __iter__(self) -> Iterator[System]:
        return iter(self.systems)

    def config(self, values: Any, where: str = "") -> TrainConfig:
        """The configuration made of plain values, as JSON holds them; a ConfigError names the first fault, and `where`
        they are from.
        """
        return validate(TrainConfig, values, where, {"models": self._models})

    @property
    def _models(self) -> tuple[Any, ...]:
        return tuple(config for system in self.systems for config in system.configs)

    def schema(self) -> dict[str, Any]:
        """The JSON schema of `TrainConfig` with the models and losses of these systems."""
        losses = tuple(config for system in self.systems for config in system.losses)
        usual: Any = TrainConfig.model_fields["loss"].default
        union: Any = one_of((*ObjectiveConfig.__args__, *losses))
        complete = create_model(
            "TrainConfig",
            __base__=TrainConfig,
            __doc__=TrainConfig.__doc__,
            model=(one_of(self._models), ...),
            loss=(union, usual),
        )
        return complete.model_json_schema()
