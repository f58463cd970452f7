"""The union of all loss configurations: those of one joint space, and the systems' own ones."""

import operator
from functools import reduce
from typing import TYPE_CHECKING, Annotated, Protocol

from pydantic import Field

from vtr_core.config.losses.contrastive import ObjectiveConfig
from vtr_core.systems.all import SYSTEMS

if TYPE_CHECKING:

    class LossConfig(Protocol):
        """Interface of a loss's configuration in code that knows no system."""

        @property
        def kind(self) -> str:
            """The tag of the loss in the union."""
            ...
else:
    _OWN = [loss for system in SYSTEMS for loss in system.losses]
    LossConfig = Annotated[reduce(operator.or_, _OWN, ObjectiveConfig), Field(discriminator="kind")]
    """The union of all losses, tagged by `kind`."""
