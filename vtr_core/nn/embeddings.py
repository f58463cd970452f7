"""What a retrieval model makes of a batch: one vector per row and modality in the joint space."""

from dataclasses import dataclass

from jaxtyping import Bool, Float
from torch import Tensor

TEXT = "text"
"""The modality of captions; the others are named after their feature column."""


@dataclass(frozen=True)
class Embeddings:
    """Vectors by modality ("text", "video", "audio", …), and in which rows each modality is present.

    A vector of a modality that is not present is exactly 0 and takes no part in losses and scores.
    """

    vectors: dict[str, Float[Tensor, "batch dim"]]
    present: dict[str, Bool[Tensor, " batch"]]
    candidates: Float[Tensor, "batch extra dim"] | None = None
    """Vectors of the further candidate captions of each row, 0 where its text is not present."""
