"""Lookup by name over all systems."""

from collections.abc import Iterable
from types import MappingProxyType
from typing import TypeVar

from vtr_core.errors import ConfigError

T = TypeVar("T")


def by_name(pairs: Iterable[tuple[str, T]], what: str) -> MappingProxyType[str, T]:
    """The values by name; ConfigError where two systems define the same name."""
    found: dict[str, T] = {}
    for name, value in pairs:
        if name in found:
            raise ConfigError(f"two systems have {what} called {name!r}; rename one, or uninstall the package it is of")
        found[name] = value
    return MappingProxyType(found)
