"""The list of all systems: vtr's own, and those of other installed packages."""

from vtr_core.systems.adapter.system import ADAPTER
from vtr_core.systems.capsules.system import CAPSULES
from vtr_core.systems.captioning.system import CAPTIONING
from vtr_core.systems.clip4clip.system import CLIP4CLIP
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
    CLIP4CLIP,
    ADAPTER,
)
"""In the order in which presets, search spaces and settings are listed; the first one is the default of a
configuration.
"""

SYSTEMS: tuple[System, ...] = (*OWN, *installed_systems(OWN))
