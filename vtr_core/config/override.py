"""Settings by dotted name: listed, read and overridden."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import fields
from difflib import get_close_matches
from functools import lru_cache
from typing import Annotated, Any, ClassVar, TypeVar, get_type_hints

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError, model_validator

from vtr_core.errors import ConfigError

_LARGEST = 2**31 - 1
"""Upper bound of counts and sizes; products of larger ones overflow in array libraries."""

PositiveInt = Annotated[int, Field(gt=0, le=_LARGEST)]
NonNegativeInt = Annotated[int, Field(ge=0, le=_LARGEST)]
LONGEST, DEEPEST = 4096, 1024
"""Upper bounds of what no weight's shape confirms: the work of a model grows with them however small its file is."""
Length = Annotated[int, Field(gt=0, le=LONGEST)]
"""Words of a caption, frames of a clip, pixels of a side: memory grows with them, of attention with their square."""
Depth = Annotated[int, Field(gt=0, le=DEEPEST)]
"""Layers, iterations, beams: each is built, or computed, in turn."""


class Settings(BaseModel):
    """Frozen, and closed: an unknown name is an error, never ignored. Floats are finite."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True, allow_inf_nan=False)
    removed: ClassVar[Mapping[str, Any]] = {}
    """Settings of earlier versions with the values at which they had no effect: with these, checkpoints still load."""

    @model_validator(mode="before")
    @classmethod
    def _without_removed(cls, values: Any) -> Any:
        if not cls.removed or not isinstance(values, Mapping):
            return values
        return {name: value for name, value in values.items() if cls.removed.get(name, ...) != value}

    @property
    def validation_context(self) -> Mapping[str, Any]:
        """What a validation of changed values has to know beside these."""
        return {}

    @classmethod
    def __pydantic_init_subclass__(cls, **kwargs: Any) -> None:
        """Descriptions are of one line each, as help breaks lines anew."""
        super().__pydantic_init_subclass__(**kwargs)
        for setting in cls.model_fields.values():
            if setting.description is not None:
                setting.description = " ".join(setting.description.split())


class SourceSettings(Settings):
    """Settings of a data source, which are written to the manifest and identify an ingest."""

    left_out_unset: ClassVar[frozenset[str]] = frozenset()
    """Fields that the manifest omits while they are 0 or false: data sets made before they existed keep their
    fingerprints."""

    def settings(self) -> dict[str, Any]:
        """The settings as JSON."""
        values = self.model_dump(mode="json")
        return {name: value for name, value in values.items() if value or name not in self.left_out_unset}


Probability = Annotated[float, Field(ge=0.0, lt=1.0)]


class ModelInputs(Settings):
    """Features and vocabulary of the training data, filled in from its manifest when a run starts."""

    features: dict[str, PositiveInt] = Field(default_factory=dict)
    """Feature columns and their dimensions, for instance {"video": 4096, "audio": 1024}."""
    num_words: NonNegativeInt = 0
    """Words in the vocabulary, without the padding id 0."""
    word_dim: PositiveInt = 300
    """Dimension of the word vectors (set to the word-vector file's where one was used)."""
    max_words: Length = 20
    """Words kept of a caption."""


T = TypeVar("T")


def record(cls: Callable[..., T], value: Any) -> T:
    """`cls`, a dataclass, from what JSON holds; ValueError, on one line, for what does not suit it.

    Types are taken strictly: 3.0 and "3" are no integers. Members that `cls` does not know are left out.
    """
    adapters = _adapters(cls)
    if not isinstance(value, Mapping):
        raise ValueError(f"it is {type(value).__name__}, not an object of {', '.join(adapters)}")
    members = {name: _checked(name, adapter, value[name]) for name, adapter in adapters.items() if name in value}
    try:
        return cls(**members)
    except TypeError as error:
        raise ValueError(f"it lacks members ({error})") from error


def _checked(name: str, adapter: TypeAdapter, value: Any) -> Any:
    try:
        return adapter.validate_python(value, strict=True)
    except ValidationError as error:
        raise ValueError(f"{name}: {error.errors()[0]['msg']}") from error


@lru_cache(maxsize=32)
def _adapters(cls: Any) -> dict[str, TypeAdapter]:
    kinds = get_type_hints(cls)
    return {field.name: TypeAdapter(kinds[field.name]) for field in fields(cls)}


def setting_names(values: Mapping[str, Any], above: str = "") -> Iterator[str]:
    """The dotted names of all settings in `values`, without those of groups."""
    for name, value in values.items():
        if isinstance(value, Mapping):
            yield from setting_names(value, f"{above}{name}.")
        else:
            yield f"{above}{name}"


def same_end(name: str, known: Iterable[str]) -> list[str]:
    """The dotted names that end as `name` does: training.epochs for epochs, optimizer.learning_rate for lr."""
    end = name.rpartition(".")[2]
    last = {other: other.rpartition(".")[2] for other in known}
    initials = {other: "".join(word[:1] for word in own.split("_")) for other, own in last.items() if "_" in own}
    return [other for other, own in last.items() if end in (own, initials.get(other))]


_SAME_END, _SAME_NAME = 0.75, 0.85
"""How like a name the one that is meant must be, where their last parts are the same, and elsewhere."""
C = TypeVar("C", bound=Settings)


def override(config: C, changes: Mapping[str, Any]) -> C:
    """`config` with every dotted name in `changes` set to its value.

    A single value of a setting that takes several is one of them. A name that ends in `.kind` chooses another variant
    of a tagged union, with that variant's defaults; other names are applied after all `.kind`s. Raises ConfigError for
    an unknown name or a value that is not allowed.
    """
    values = config.model_dump()
    for name in sorted(changes, key=lambda n: (not n.endswith("kind"), n.count("."), n)):
        _set(values, name, changes[name])
        if name.endswith("kind"):
            values = validate(type(config), values, context=config.validation_context).model_dump()
    return validate(type(config), values, context=config.validation_context)


def validate(cls: type[C], values: Any, where: str = "", context: Mapping[str, Any] | None = None) -> C:
    """`cls` made of plain values; a ConfigError of one line names the first fault, and `where` they are from.

    context: what the class's validators have to know beside the values.
    """
    try:
        return cls.model_validate(values, context=context)
    except ValidationError as error:
        raise ConfigError(f"{where}: {describe(error, values)}" if where else describe(error, values)) from error


def describe(error: ValidationError, values: Any) -> str:
    """The first fault of a validation of `values`, on one line, by the dotted name a user would type."""
    first = error.errors()[0]
    name = ".".join(_dotted(first["loc"], values)) or "configuration"
    value = first.get("input")
    shown = f" (given: {value!r})" if isinstance(value, (str, int, float, bool, list)) else ""
    return f"{name}: {first['msg'].removeprefix('Value error, ')}{shown}"


def _dotted(location: Sequence[str | int], values: Any) -> Iterator[str]:
    """The location's parts without the tags of unions, which a dotted name does not have."""
    node = values
    for part in location:
        if isinstance(node, Mapping) and part not in node and part == node.get("kind"):
            continue
        yield str(part)
        node = node.get(part) if isinstance(node, Mapping) else None


def _set(values: dict[str, Any], name: str, value: Any) -> None:
    *parents, last = name.split(".")
    node = values
    for part in parents:
        if part not in node or not isinstance(node[part], dict):
            raise _unknown(name, values)
        node = node[part]
    if last not in node:
        raise _unknown(name, values)
    if last == "kind" and value != node["kind"]:
        node.clear()
    several = isinstance(node.get(last), tuple) and isinstance(value, str | int | float)
    node[last] = (value,) if several else value


def _unknown(name: str, values: Mapping[str, Any]) -> ConfigError:
    """The error for a setting that is not there: the nearest of all, or what the nearest group has."""
    known = [other for other in setting_names(values) if not other.endswith(".kind")]
    groups = {other.rpartition(".")[0] for other in setting_names(values) if "." in other}
    ends_so = get_close_matches(name, same_end(name, setting_names(values)), n=1, cutoff=_SAME_END)
    very_like = ends_so or get_close_matches(name, [*known, *groups], n=1, cutoff=_SAME_NAME)
    above = get_close_matches(name.rpartition(".")[0], groups, n=1, cutoff=_SAME_NAME)
    likely = very_like or above or get_close_matches(name, [*known, *groups], n=1)
    if not likely:
        return ConfigError(f"no setting {name}; known here: {', '.join(values)}")
    if likely[0] in groups:
        inside = [other for other in setting_names(values) if other.rpartition(".")[0] == likely[0]]
        return ConfigError(f"no setting {name}; known there: {', '.join(inside)}")
    return ConfigError(f"no setting {name}; did you mean {likely[0]}?")
