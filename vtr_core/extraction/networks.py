"""The loaded networks of an extraction, which make rows of features of whatever chunk is decoded."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Shaped

from vtr_core.extraction.chosen import Chosen, streams
from vtr_core.video.streams import Chunk


@dataclass(frozen=True)
class Rows:
    """The features that one recipe makes of one chunk."""

    recipe: int
    """Its position among the chosen ones."""
    chunk: int
    values: Shaped[np.ndarray, "rows ..."]
    """float32 (rows, dim); of pictures that are kept an object array of bytes (rows,)."""


class Networks:
    """The networks of all chosen recipes on one device."""

    def __init__(self, chosen: Sequence[Chosen], device: str) -> None:
        asked = streams(chosen)
        self._stream_of = [asked.index(one.recipe.stream) for one in chosen]
        self._extractors = [one.recipe.load(one.weights, device) for one in chosen]

    def rows(self, chunk: Chunk) -> list[Rows]:
        """What every recipe that asked for the chunk's stream makes of it."""
        takers = [i for i, stream in enumerate(self._stream_of) if stream == chunk.stream]
        return [Rows(i, chunk.index, self._extractors[i](chunk.values)) for i in takers]
