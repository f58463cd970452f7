"""The error for a model whose system does not support what a command needs."""

from collections.abc import Callable

from vtr_core.errors import ConfigError
from vtr_core.run.models import system_of
from vtr_core.systems.all import SYSTEMS
from vtr_core.systems.loaded_model import TrainedModel
from vtr_core.systems.system import System


def lacking(loaded: TrainedModel, what: str, offers: Callable[[System], bool]) -> ConfigError:
    """States that `what` needs a model of a system that `offers` it, which models those are, and which one this is."""
    model = loaded.config.model
    able = [system for system in SYSTEMS if offers(system)]
    kinds = " or ".join(repr(kind) for system in able for kind in system.kinds)
    example = next(iter(able[0].presets().bases))
    return ConfigError(
        f"{loaded.uri} is of a {model.kind!r} model, for which there are {system_of(model).used_by}; "
        f"{what} needs one of {kinds}, such as vtr train {example} makes"
    )
