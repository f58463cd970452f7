"""The settings of trainings, and what differs between those that are otherwise named alike."""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeAlias

from vtr_core.fingerprint import fingerprint
from vtr_core.run.config import TrainConfig
from vtr_core.train.checkpoint.load import LoadedModel

Settings: TypeAlias = tuple[tuple[str, str], ...]
"""Dotted names of settings and their values as JSON."""
_NO_SETTING = ("seed", "preset", "scaling")
"""Trainings of one ensemble differ in the seed. A preset is a name for settings, and any number of workers computes the
same loss.
"""
_SIZES = ("model.latent_dim", "model.num_concepts", "trained with concepts")
_ORIGIN = {"data.fingerprint": "trained on data", "init": "initial weights"}
_SHOWN = 3


def settings_of(config: TrainConfig, origin: Mapping[str, str] | None = None) -> Settings:
    """All settings but the seed; origin: what else a training begins with, by name."""
    values = {name: value for name, value in config.model_dump(mode="json").items() if name not in _NO_SETTING}
    flat = {name: json.dumps(value) for name, value in _flat(values, "")}
    return tuple(sorted({**flat, **(origin or {})}.items()))


def origin_of(loaded: LoadedModel) -> dict[str, str]:
    """The data, the initial weights and the concepts that a model was trained with, as far as they are known."""
    found = {name: str(loaded.provenance[key]) for key, name in _ORIGIN.items() if loaded.provenance.get(key)}
    return {**found, **({"trained with concepts": fingerprint(loaded.concepts)} if loaded.concepts else {})}


def without_sizes(settings: Settings) -> Settings:
    """Settings but for the dimensions of the spaces: those that a dimension study keeps."""
    return tuple((name, value) for name, value in settings if name not in _SIZES)


def what_differs(alike: Sequence[Settings]) -> list[str]:
    """For each of several settings the values that not all of them have, " [loss.labels binary]"; "" for a single one.

    At most three are shown; a number tells apart what is then still named alike.
    """
    if len(alike) < 2:
        return [""] * len(alike)
    known = [dict(one) for one in alike]
    names = sorted({name for one in known for name in one if len({other.get(name) for other in known}) > 1})
    texts = [_text(one, names) for one in known]
    return [
        f" [{text}]" if texts.count(text) == 1 else f" [{text}; settings {number}]"
        for number, text in enumerate(texts, 1)
    ]


def _text(settings: Mapping[str, str], names: Sequence[str]) -> str:
    shown = [f"{name} {_value(settings.get(name))}" for name in names[:_SHOWN]]
    return ", ".join([*shown, *([f"and {len(names) - _SHOWN} more"] if len(names) > _SHOWN else [])])


def _value(value: str | None) -> str:
    """A value as a person types it; long ones are fingerprints."""
    plain = "none" if value in (None, "null") else str(value).strip('"')
    return plain if len(plain) < 30 else plain[:7]


def _flat(values: Mapping[str, Any], prefix: str) -> Iterator[tuple[str, Any]]:
    for name, value in values.items():
        if isinstance(value, Mapping):
            yield from _flat(value, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}", value
