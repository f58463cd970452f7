"""A recipe: everything that decides what numbers come of a video, by a name and a fingerprint."""

from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Literal, Protocol, runtime_checkable

import numpy as np
from jaxtyping import Shaped

from vtr_core.video.streams import Stream

Modality = Literal["video", "audio"]


@runtime_checkable
class Extractor(Protocol):
    """What makes features of a chunk of a recipe's stream. Chunks do not know of each other."""

    def __call__(self, values: Shaped[np.ndarray, "..."]) -> Shaped[np.ndarray, "rows ..."]:
        """The rows of a chunk, in order of time, float32 (rows, dim); perhaps none of a last, short one."""
        ...


@dataclass(frozen=True)
class Weights:
    """A file of trained weights: where it is to be had, and how it is recognised."""

    file: str
    """Its published name."""
    where: str
    """Who offers it; a package that carries it is named as for pip."""
    licence: str
    sha256: str | None
    """Of the published file, or how it begins; None where its publishers do not say."""
    package: str | None = None
    """The Python package that carries the file."""


@dataclass(frozen=True)
class Recipe:
    """Network, rate, size and weights of one kind of features."""

    name: str
    modality: Modality
    network: str
    """The network, what it was trained on, and the layer."""
    follows: str
    """Which published extraction this is, and what differs."""
    stream: Stream
    dim: int
    rows_per_second: float | None
    """None: as many rows for every video, which tell nothing of a part of it."""
    weights: Weights | None
    load: Callable[[str | None, str], Extractor]
    """(file of weights, torch device) -> what extracts; the file is None for a recipe without, or with a package."""
    most_rows: int | None = None
    """Rows kept of a whole video, in equal steps from the first to the last; clips are pooled from all."""
    revision: int = 1
    """Counted up when the same video would give other numbers."""

    @property
    def feature(self) -> str:
        """The recipe's name as a feature column can have it."""
        return self.name.replace("-", "_")

    def settings(self, weights_sha256: str | None) -> dict[str, object]:
        """What decides the numbers, as a manifest holds it, with the hash of the weights that are used."""
        return {
            "name": self.name,
            "revision": self.revision,
            "network": self.network,
            "stream": {"kind": type(self.stream).__name__, **asdict(self.stream)},
            "dim": self.dim,
            "most_rows": self.most_rows,
            "weights": weights_sha256,
        }
