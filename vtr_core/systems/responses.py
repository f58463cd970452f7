"""How strongly the units of a model, such as capsules, respond to texts and to the items of a data set."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float32

Units = Float32[np.ndarray, " units"]


@dataclass(frozen=True)
class Responses:
    """Every unit's activation, as a multiple of its mean over the data set: 1 is no more than on any other item."""

    names: Mapping[str, tuple[str, ...]]
    """By modality, `text` among them, the units' names in order."""
    texts: Float32[np.ndarray, "texts units"]
    items: Mapping[str, Mapping[str, Units]]
    """By item id, then by each modality that the item has."""
