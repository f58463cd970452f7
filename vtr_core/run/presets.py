"""Presets: complete configurations by name, made of the rows of the systems' tables.

`preset(name)` takes no list of systems, so this module reads the installed ones itself; no other module of the library
but `vtr_core.api` and `vtr_core.train.checkpoint`, whose `load_model(uri)` takes none either, may do so.
"""

from collections.abc import Callable, Iterator, Mapping
from functools import partial

from vtr_core.config.run import TrainConfig, applied, base_config
from vtr_core.errors import ConfigError, nearest
from vtr_core.systems.all import SYSTEMS
from vtr_core.systems.system import Presets, by_name


def _config(table: Presets, base: str, variant: str, recipe: str, name: str) -> TrainConfig:
    config = base_config(table.bases, base, name)
    if variant:
        config = applied(config, table.variants, variant)
    return applied(config, table.recipes, recipe) if recipe else config


def _presets(table: Presets) -> Iterator[tuple[str, Callable[[], TrainConfig]]]:
    """`<base>`, `<base>-<variant>`, and what a recipe makes of both: `<base>-<recipe>`, `<base>-<recipe>-<variant>`."""
    for base, row in table.bases.items():
        for recipe in ("", *table.recipes) if row.varied else ("",):
            for variant in ("", *table.variants) if row.varied else ("",):
                name = "-".join(filter(None, (base, recipe, variant)))
                yield name, partial(_config, table, base, variant, recipe, name)


PRESETS: Mapping[str, Callable[[], TrainConfig]] = by_name(
    (pair for system in SYSTEMS for pair in _presets(system.presets())), "a preset"
)
"""All presets, by name."""


def preset(name: str) -> TrainConfig:
    """The configuration of the preset `name`; ConfigError suggests a known one."""
    if name not in PRESETS:
        raise ConfigError(f"no preset {name!r}; {nearest(name, PRESETS, 'vtr train --list shows all of them')}")
    return PRESETS[name]()
