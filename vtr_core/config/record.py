"""Records (dataclasses) from JSON that may be damaged."""

from collections.abc import Callable, Mapping
from dataclasses import fields
from functools import lru_cache
from typing import Any, TypeVar, get_type_hints

from pydantic import TypeAdapter, ValidationError

T = TypeVar("T")


def record(cls: Callable[..., T], value: Any) -> T:
    """`cls`, a dataclass, from what JSON holds; ValueError, on one line, for what does not suit it.

    Types are taken strictly: 3.0 and "3" are no integers. Members that `cls` does not know are left out.
    """
    adapters = _adapters(cls)
    if not isinstance(value, Mapping):
        raise ValueError(f"it is {type(value).__name__}, not an object of {', '.join(adapters)}")
    found = {name: _checked(name, adapter, value[name]) for name, adapter in adapters.items() if name in value}
    try:
        return cls(**found)
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
