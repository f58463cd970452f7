"""The systems: vtr's own, one a line, and those that other installed packages offer."""

from vtr_core.systems.capsules.system import CAPSULES
from vtr_core.systems.captioning.system import CAPTIONING
from vtr_core.systems.dual.system import DUAL
from vtr_core.systems.installed import installed_systems
from vtr_core.systems.muse.system import MUSE
from vtr_core.systems.siamese.system import SIAMESE
from vtr_core.systems.system import System

OWN: tuple[System, ...] = (
    CAPSULES,
    DUAL,
    MUSE,
    SIAMESE,
    CAPTIONING,
)
"""In the order in which presets, spaces and settings are listed; the first one is what an empty configuration is of."""

SYSTEMS: tuple[System, ...] = (*OWN, *installed_systems(OWN))
