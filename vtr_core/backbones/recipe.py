"""Recipes: everything that determines the features of a video, with a name and a fingerprint."""

import re
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Literal, Protocol, runtime_checkable

import numpy as np
from jaxtyping import Shaped

from vtr_core.video.streams import Stream

Modality = Literal["video", "audio"]


@runtime_checkable
class Extractor(Protocol):
    """The function from a chunk of a recipe's stream to feature rows. Chunks are independent of each other."""

    def __call__(self, values: Shaped[np.ndarray, "..."], /) -> Shaped[np.ndarray, "rows ..."]:
        """The rows of a chunk, in order of time, float32 (rows, dim); a short last chunk may yield none."""
        ...


@dataclass(frozen=True)
class Weights:
    """A file of trained weights: its source and its hash."""

    file: str
    """Published file name."""
    where: str
    """Where to get it; a package that contains it is named as for pip."""
    licence: str
    sha256: str | None
    """Hash of the published file, or its first digits; None where it is not published."""
    package: str | None = None
    """The Python package that contains the file."""


@dataclass(frozen=True)
class Recipe:
    """Network, rate, size and weights of one kind of features."""

    name: str
    modality: Modality
    network: str
    """The network, what it was trained on, and the layer."""
    follows: str
    """The published extraction that this follows, and the differences."""
    stream: Stream
    dim: int
    rows_per_second: float | None
    """None: the same number of rows for every video, which cannot be assigned to parts of it."""
    weights: Weights | None
    load: Callable[[str | None, str], Extractor]
    """(weights file, torch device) → extractor; the file is None for recipes without weights or with a package's."""
    most_rows: int | None = None
    """Most rows stored of a whole video, in equal steps from the first to the last; clips pool all rows."""
    revision: int = 1
    """Increased whenever features of the same video change."""
    fingerprint: str | None = None
    """Of a pretrained encoder, over its weights and preprocessing; the features' own, wherever the weights lie."""

    @property
    def feature(self) -> str:
        """The recipe's name as a valid name of a feature column."""
        return re.sub(r"\W", "_", self.name)

    @property
    def folder(self) -> str:
        """The recipe's name as the name of a folder."""
        return re.sub(r"[^\w.-]", "_", self.name)

    def settings(self, weights_sha256: str | None) -> dict[str, object]:
        """The settings that determine the features, as stored in manifests, with the hash of the weights in use."""
        return {
            "name": self.name,
            "revision": self.revision,
            "network": self.network,
            "stream": {"kind": type(self.stream).__name__, **asdict(self.stream)},
            "dim": self.dim,
            "most_rows": self.most_rows,
            "weights": weights_sha256,
        }
