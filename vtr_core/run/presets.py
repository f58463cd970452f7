"""Presets: named functions that return a complete configuration; a variant changes a few settings of another.

`preset(name)` takes no list of systems, so this module reads the installed ones itself; no other module of the library
but `vtr_core.api` and `vtr_core.train.checkpoint`, whose `load_model(uri)` takes none either, may do so.
"""

from collections.abc import Callable, Iterator, Mapping
from functools import partial

from vtr_core.config.run import TrainConfig
from vtr_core.errors import ConfigError, nearest, one_line
from vtr_core.systems.all import SYSTEMS
from vtr_core.systems.system import Presets, by_name

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
        raise ConfigError(f"no preset {name!r}; {nearest(name, PRESETS, one_line(describe_presets()))}")
    return PRESETS[name]()


def describe_presets() -> str:
    """The names of all presets, two lines for each family."""
    return ";\n".join(
        f"presets: {', '.join(family.bases)};\nvariants of each, <preset>-<variant>: {', '.join(family.variants)}"
        for family in _FAMILIES
    )
