"""Presets: named functions that return a complete configuration; a variant changes a few settings of another."""

import difflib
from collections.abc import Callable, Iterator, Mapping
from functools import partial

from vtr_core.errors import ConfigError
from vtr_core.run.config import TrainConfig
from vtr_core.systems.all import SYSTEMS
from vtr_core.systems.names import by_name
from vtr_core.systems.system import Presets

_FAMILIES: tuple[Presets, ...] = tuple(system.presets() for system in SYSTEMS)


def _variant(family: Presets, base: str, name: str) -> TrainConfig:
    return family.variant(family.bases[base](), name)


def _presets(family: Presets) -> Iterator[tuple[str, Callable[[], TrainConfig]]]:
    yield from family.bases.items()
    for base in family.bases:
        for name in family.variants:
            yield f"{base}-{name}", partial(_variant, family, base, name)


PRESETS: Mapping[str, Callable[[], TrainConfig]] = by_name(
    (pair for family in _FAMILIES for pair in _presets(family)), "a preset"
)
"""The base presets, and for each base the variants of the papers' tables as `<base>-<variant>`."""


def preset(name: str) -> TrainConfig:
    """The configuration of the preset `name`; ConfigError lists the known ones."""
    if name not in PRESETS:
        close = difflib.get_close_matches(name, PRESETS, n=3)
        hint = f"did you mean {' or '.join(close)}? " if close else ""
        raise ConfigError(f"no preset {name!r}; {hint}{' '.join(describe_presets().split())}")
    return PRESETS[name]()


def describe_presets() -> str:
    """The names of all presets, two lines for each family."""
    return ";\n".join(
        f"presets: {', '.join(family.bases)};\nvariants of each, <preset>-<variant>: {', '.join(family.variants)}"
        for family in _FAMILIES
    )
