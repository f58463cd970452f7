"""Settings of a table's rows: of variants with changes, beside a folder's earlier ones and the paper's."""

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from pipelines.systems.registry import SYSTEMS
from vtr_core import storage
from vtr_core.config.override import override
from vtr_core.errors import ConfigError, RunConflict
from vtr_core.run.config import TrainConfig
from vtr_core.run.presets import PRESETS, preset
from vtr_core.storage import locate

PUBLISHED = "published"
"""The recipe of a base and of its variants with their paper's settings."""


def variant_configs(base: str, variants: Iterable[str], changes: Mapping[str, Any]) -> dict[str, TrainConfig]:
    """By variant of a preset, "" being the preset itself, its configuration with `changes`.

    A change of a setting that only some of them have, such as one of capsules beside a network without, is made there.
    """
    preset(base)  # an unknown base is named by itself
    configs = {variant: preset(f"{base}-{variant}" if variant else base) for variant in variants}
    some = {name for name in changes if any(_has(config, name) for config in configs.values())}
    changed = {}
    for variant, config in configs.items():
        lacking = [name for name in some if not _has(config, name) and not _in_another_kind(name, changes)]
        if lacking:
            print(f"{config.preset} has no {', '.join(sorted(lacking))}", flush=True)
        changed[variant] = override(config, {name: value for name, value in changes.items() if name not in lacking})
    return changed


def _has(config: Any, setting: str) -> bool:
    """Whether a configuration has a setting, by its dotted name."""
    for name in setting.split("."):
        if not hasattr(config, name):
            return False
        config = getattr(config, name)
    return True


def _in_another_kind(setting: str, changes: Mapping[str, Any]) -> bool:
    """Whether other changes replace a group that the setting is in, so that it may have it afterwards."""
    parts = setting.split(".")
    groups = [".".join(parts[:depth]) for depth in range(1, len(parts))]
    return any(group in changes or f"{group}.kind" in changes for group in groups)


def settings_of(config: TrainConfig) -> dict[str, Any]:
    """The configuration that a figure depends on, as JSON; its inputs are those of the data."""
    settings: dict[str, Any] = json.loads(config.model_dump_json())
    return settings


def check_settings(folder: str, config: TrainConfig) -> None:
    """RunConflict, which names what differs, where the folder's figures were made with other settings."""
    place = locate(settings_file(folder))
    if not storage.exists(place):
        return
    differing = _differing(_completed(storage.read_json(place)), settings_of(config), "")
    changed = sorted(f"{name} = {new!r}, was {old!r}" for name, old, new in differing)
    if changed:
        raise RunConflict(
            f"{folder} has figures made with other settings ({', '.join(changed[:3])}); repeat those, or give these "
            "settings another --out"
        )


def _completed(made_with: dict[str, Any]) -> dict[str, Any]:
    """Settings with the defaults of those that the version which recorded them did not have.

    Settings that this version cannot read stay as they are, so that they differ.
    """
    try:
        return settings_of(SYSTEMS.config(made_with, "settings"))
    except ConfigError:
        return made_with


def _differing(old: Any, new: Any, name: str) -> Iterator[tuple[str, Any, Any]]:
    """The dotted name of each setting that differs, with both values."""
    if isinstance(old, dict) and isinstance(new, dict):
        for key in old.keys() | new.keys():
            yield from _differing(old.get(key), new.get(key), f"{name}.{key}" if name else key)
    elif old != new:
        yield name, old, new


def deviations(base: str, configs: Mapping[str, TrainConfig]) -> dict[str, tuple[str, ...]]:
    """By variant of `base`, the settings that differ from its paper's, those of `<base>-published-<variant>`.

    Variants without a published form, such as those of a base that is published itself, are left out.
    """
    deviating = {}
    for variant, config in configs.items():
        published = "-".join(filter(None, (base, PUBLISHED, variant)))
        if published in PRESETS:
            of_paper = preset(published).model_copy(update={"preset": config.preset, "seed": config.seed})
            differing = sorted(_differing(settings_of(of_paper), settings_of(config), ""))
            deviating[variant] = tuple(f"{name} = {ours} (paper: {theirs})" for name, theirs, ours in differing)
    return deviating


def settings_file(folder: str) -> str:
    """The file of the settings that a run's figures were made with."""
    place = locate(folder)
    return (place.parent / f"{place.name}.settings.json").uri


def first_alike(configs: Mapping[str, TrainConfig]) -> dict[str, str]:
    """For each variant the first one whose configuration differs at most in the preset's name."""
    unnamed = {variant: config.model_copy(update={"preset": None}) for variant, config in configs.items()}
    return {variant: next(v for v, other in unnamed.items() if other == config) for variant, config in unnamed.items()}
