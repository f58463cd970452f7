"""Encoded texts, videos or sounds: a row for each, in every space of the model."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Bool, Float32

from vtr_core.errors import InputError


@dataclass(frozen=True)
class Encoded:
    """Vectors by name: the modality in a joint space (`text`, `video`, `audio`), or the space of a dual encoder
    (`latent`, `concept`; concept scores are those before the sigmoid).

    A row that is not present, a text without a known word or a video without the feature, is exactly 0.
    `numpy.asarray` gives the matrix where there is one name alone.
    """

    vectors: Mapping[str, Float32[np.ndarray, "rows dim"]]
    present: Mapping[str, Bool[np.ndarray, " rows"]]

    def __len__(self) -> int:
        return len(next(iter(self.vectors.values())))

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        if len(self.vectors) != 1:
            raise InputError(f"the vectors are of {', '.join(self.vectors)}; take one of them: .vectors[name]")
        return np.array(next(iter(self.vectors.values())), dtype=dtype, copy=copy)

    @property
    def known(self) -> Bool[np.ndarray, " rows"]:
        """The rows that are present under any name."""
        return np.logical_or.reduce(list(self.present.values()))
