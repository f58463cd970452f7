"""Interface of a CLIP-like model that computes frame tokens and caption vectors."""

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

import numpy as np
from jaxtyping import Float32


@runtime_checkable
class ClipBackbone(Protocol):
    """A frozen pair of encoders into one space."""

    @property
    def dim(self) -> int:
        """Dimension of tokens and of caption vectors."""
        ...

    @property
    def grid(self) -> int:
        """Patches on a side of a frame."""
        ...

    @property
    def image_size(self) -> int:
        """Pixels on a side of a frame."""
        ...

    def tokens(self, images: Float32[np.ndarray, "frames 3 height width"]) -> Float32[np.ndarray, "frames tokens dim"]:
        """The projected [CLS] token and the projected patches, row by row, of images with values from 0 to 1."""
        ...

    def captions(self, captions: Sequence[str]) -> Float32[np.ndarray, "captions dim"]:
        """The projected [EOT] vectors, not normalised."""
        ...
