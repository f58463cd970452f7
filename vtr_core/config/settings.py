"""The base of every configuration class, inputs of a model, and records from JSON that may be damaged."""

from collections.abc import Callable, Mapping
from dataclasses import fields
from functools import lru_cache
from typing import Annotated, Any, ClassVar, TypeVar, get_type_hints

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

_LARGEST = 2**31 - 1
"""Upper bound of counts and sizes; products of larger ones overflow in array libraries."""

PositiveInt = Annotated[int, Field(gt=0, le=_LARGEST)]
NonNegativeInt = Annotated[int, Field(ge=0, le=_LARGEST)]


class Settings(BaseModel):
    """Frozen, and closed: an unknown name is an error, never ignored. Floats are finite."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True, allow_inf_nan=False)

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
    max_words: PositiveInt = 20
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
    """The validator of each field."""
    kinds = get_type_hints(cls)
    return {field.name: TypeAdapter(kinds[field.name]) for field in fields(cls)}
