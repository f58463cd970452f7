"""The loaded networks of an extraction, from decoded chunks to feature rows."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Shaped

from vtr_core.extraction.chosen import Chosen, streams
from vtr_core.video.streams import Chunk


@dataclass(frozen=True)
class Rows:
    """The features of one chunk by one recipe."""

    recipe: int
    """The recipe's position among the chosen ones."""
    chunk: int
    values: Shaped[np.ndarray, "rows ..."]
    """Features, float32 (rows, dim); stored pictures, an object array of bytes (rows,)."""


class Networks:
    """The networks of all chosen recipes on one device."""

    def __init__(self, chosen: Sequence[Chosen], device: str) -> None:
        asked = streams(chosen)
        self._stream_of = [asked.index(one.recipe.stream) for one in chosen]
        self._extractors = [one.recipe.load(one.weights, device) for one in chosen]

    def rows(self, chunk: Chunk) -> list[Rows]:
        """The features of the chunk by every recipe of its stream."""
        takers = [i for i, stream in enumerate(self._stream_of) if stream == chunk.stream]
        return [Rows(i, chunk.index, self._extractors[i](chunk.values)) for i in takers]
