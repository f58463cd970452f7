"""The embeddings of a batch: one vector per row and modality in the joint space, and which are present."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float
from torch import Tensor

TEXT = "text"
"""The modality of captions; the others are named after their feature column."""
VIDEO = "video"
"""The modality of videos in a dual encoder, whatever its feature column is called."""


@dataclass(frozen=True)
class Embeddings:
    """Vectors by modality ("text", "video", "audio", …), and in which rows each modality is present.

    A vector of a modality that is not present is exactly 0 and takes no part in losses and scores.
    """

    vectors: dict[str, Float[Tensor, "batch dim"]]
    present: dict[str, Bool[Tensor, " batch"]]
    candidates: Float[Tensor, "batch extra dim"] | None = None
    """Vectors of the further candidate captions of each row, 0 where its text is not present."""


@dataclass(frozen=True)
class DualVectors:
    """The vectors of one modality in the spaces that a dual encoder has; exactly 0 where the modality is missing."""

    latent: Float[Tensor, "rows dim"] | None
    """Unit vectors."""
    concept_scores: Float[Tensor, "rows concepts"] | None
    """h, before the sigmoid."""


@dataclass(frozen=True)
class DualEmbeddings:
    """Text and video of a batch in each space that a dual encoder has."""

    latent: Embeddings | None
    """Vectors of length 1."""
    concept: Embeddings | None
    """Scores h of the concepts, before the sigmoid: losses on logits are exact, and cosine compares h itself."""


def concatenate(parts: Sequence[Embeddings]) -> Embeddings:
    """The rows of all parts, in order."""
    names = list(parts[0].vectors)
    candidates = [part.candidates for part in parts if part.candidates is not None]
    return Embeddings(
        vectors={name: torch.cat([part.vectors[name] for part in parts]) for name in names},
        present={name: torch.cat([part.present[name] for part in parts]) for name in names},
        candidates=torch.cat(candidates) if candidates else None,
    )
