"""The embeddings of a batch, one vector per row and modality, normalised."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float
from torch import Tensor
from torch.nn.functional import normalize

from vtr_core.data.batches import ClipBatch
from vtr_core.nn.precision import at_least_float32

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


def joint_embeddings(vectors: Mapping[str, Float[Tensor, "_ dim"]], batch: ClipBatch, normalized: bool) -> Embeddings:
    """The `Embeddings` of a batch from its modalities' vectors in the joint space.

    vectors: one per row; those of text in the order of `captions(batch)`, the rows' own captions before the candidates.
    normalized: each vector is L2-normalised.
    The vector of a missing modality was computed from zeros and is set to exactly 0 here: every parameter stays in the
    autograd graph, but a missing modality contributes to no loss. The result is float32 or more, also under autocast.
    """
    finished = {name: at_least_float32(values) for name, values in vectors.items()}
    if normalized:
        finished = {name: normalize(values, dim=1) for name, values in finished.items()}
    text = finished[TEXT]
    own = {**finished, TEXT: text[: batch.rows]}
    present = {name: batch.text_present if name == TEXT else batch.present[name] for name in own}
    return Embeddings(
        vectors={name: torch.where(present[name].unsqueeze(1), values, 0) for name, values in own.items()},
        present=present,
        candidates=_candidates(text, batch),
    )


def _candidates(text: Float[Tensor, "captions dim"], batch: ClipBatch) -> Float[Tensor, "batch extra dim"] | None:
    if batch.candidate_tokens is None:
        return None
    candidates = text[batch.rows :].unflatten(0, batch.candidate_tokens.shape[:2])
    return torch.where(batch.text_present[:, None, None], candidates, 0)
