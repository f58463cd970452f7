"""What a model writes of a data set beside its vectors: captions, concepts, activations, by its system's functions."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow as pa

from vtr_core.data.manifest import Manifest
from vtr_core.data.plan.plan import RowGroup
from vtr_core.errors import ConfigError
from vtr_core.systems.loaded_model import TrainedModel

if TYPE_CHECKING:
    from vtr_core.systems.system import System

VECTORS = "vectors"
"""The name of what every model with a space of embeddings writes."""
OutputSettings = Mapping[str, int | float]


@dataclass(frozen=True)
class Output:
    """A table of a data set's clips or videos, written row group by row group."""

    check: Callable[[TrainedModel, Manifest, OutputSettings], None]
    """ConfigError or DatasetError for a model, a data set or settings that it cannot be written with."""
    table: Callable[[TrainedModel, Manifest, Sequence[RowGroup], OutputSettings], pa.Table]
    """The rows of some row groups in file order, computed on the model's device; the model's mode is restored."""
    settings: frozenset[str] = frozenset()
    """The names of the settings that it takes."""


def output_of(loaded: TrainedModel, name: str) -> Output:
    """The output `name` of the model's system; ConfigError, which names the models that have it, for another."""
    from vtr_core.run.lacking import lacking
    from vtr_core.run.models import system_of
    from vtr_core.systems.all import SYSTEMS

    found = _outputs(system_of(loaded.config.model)).get(name)
    if found is not None:
        return found
    known = sorted({VECTORS}.union(*map(_outputs, SYSTEMS)))
    if name not in known:
        raise ConfigError(f"vtr embed: --write is {name!r}; models write {', '.join(known)}")
    raise lacking(loaded, f"vtr embed --write {name}", lambda system: name in _outputs(system))


def check_settings(taken: Collection[str], name: str, settings: OutputSettings) -> None:
    """ConfigError for a setting that the output `name` does not take."""
    others = sorted(settings.keys() - set(taken))
    if others:
        known = ", ".join(map(_flag, sorted(taken))) or "none"
        raise ConfigError(f"vtr embed --write {name}: {_flag(others[0])} is no setting of it; it takes {known}")


def _flag(setting: str) -> str:
    return f"--{setting.replace('_', '-')}"


def _outputs(system: "System") -> Mapping[str, Output]:
    return system.implementation().outputs
