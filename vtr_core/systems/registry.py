"""`Systems`: the systems of a process, handed to whatever reads a configuration or offers a choice of them.

The list itself is `systems/all.py`; commands have theirs from `pipelines/systems/registry.py`, notebooks from `api.py`.
Ray's workers get the value that their driver has.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from pydantic import create_model

from vtr_core.config.losses import ObjectiveConfig
from vtr_core.config.override import validate
from vtr_core.config.run import TrainConfig, one_of
from vtr_core.systems.system import System


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
