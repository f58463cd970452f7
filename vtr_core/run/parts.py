"""Whether the parts of a configuration fit together."""

from collections.abc import Sequence

from vtr_core.config.settings import Settings
from vtr_core.errors import ConfigError
from vtr_core.run.config import TrainConfig
from vtr_core.run.models import system_of
from vtr_core.systems.all import SYSTEMS


def check_parts(config: TrainConfig) -> None:
    """ConfigError unless model and loss fit together, and the requirements of the model's system are met."""
    mine = system_of(config.model)
    for system in SYSTEMS:
        if system.losses and (system is mine) != isinstance(config.loss, system.losses):
            raise ConfigError(
                f"model.kind = {config.model.kind!r} with loss.kind = {config.loss.kind!r}: "
                f"{_kinds(system.configs)} and {_kinds(system.losses)} go together, and with no other"
            )
    mine.check(config)


def _kinds(configs: Sequence[type[Settings]]) -> str:
    return " or ".join(repr(config.model_fields["kind"].default) for config in configs)
