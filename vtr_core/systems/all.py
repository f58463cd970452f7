"""The list of all systems: vtr's own, and those of other installed packages."""

from collections.abc import Callable, Sequence
from importlib.metadata import entry_points

from vtr_core.errors import ConfigError
from vtr_core.systems.adapter.config import ADAPTER
from vtr_core.systems.capsules.config import CAPSULES
from vtr_core.systems.captioning.config import CAPTIONING
from vtr_core.systems.clip4clip.config import CLIP4CLIP
from vtr_core.systems.dual.config import DUAL
from vtr_core.systems.muse.config import MUSE
from vtr_core.systems.siamese.config import SIAMESE
from vtr_core.systems.system import System, Systems

GROUP = "vtr.systems"


def installed_systems(own: Sequence[System]) -> tuple[System, ...]:
    """The systems of other packages, sorted by name.

    Raises ConfigError for one that cannot be imported, that is no `System`, or whose name, models or losses have the
    same name as another's.
    """
    systems: list[System] = []
    for entry in sorted(entry_points(group=GROUP), key=lambda entry: entry.name):
        package = f" of the package {entry.dist.name}" if entry.dist else ""
        where = f"the entry point {GROUP} {entry.name} = {entry.value}{package}"
        system = _loaded(entry.load, where)
        _check_names(system, [*own, *systems], where)
        systems.append(system)
    return tuple(systems)


def _loaded(load: Callable[[], object], where: str) -> System:
    try:
        system = load()
    except Exception as error:  # third-party modules raise anything
        fault = f"cannot be imported ({type(error).__name__}: {error})"
        raise ConfigError(f"{where} {fault}; repair or uninstall that package") from error
    if not isinstance(system, System):
        raise ConfigError(f"{where} is a {type(system).__name__}; it must be a vtr_core.systems.system.System")
    return system


def _check_names(system: System, earlier: Sequence[System], where: str) -> None:
    taken = {name for other in earlier for name in _names(other)}
    for name in _names(system):
        if name in taken:
            raise ConfigError(f"{where} has the {name}, which another system has too; rename it or uninstall one")


def _names(system: System) -> list[str]:
    losses = [config.model_fields["kind"].default for config in system.losses]
    kinds = [*(f"model {kind!r}" for kind in system.kinds), *(f"loss {kind!r}" for kind in losses)]
    return [f"name {system.name!r}", *kinds]


OWN: tuple[System, ...] = (
    CAPSULES,
    DUAL,
    MUSE,
    SIAMESE,
    CAPTIONING,
    CLIP4CLIP,
    ADAPTER,
)
"""In the order in which presets, search spaces and settings are listed.
"""

SYSTEMS = Systems((*OWN, *installed_systems(OWN)))
