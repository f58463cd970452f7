"""The embeddings of a batch, one vector per row and modality, normalised, and the volumes they span."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float
from torch import Tensor
from torch.nn.functional import normalize

from vtr_core.data.batches import ClipBatch
from vtr_core.nn.precision import at_least_float32, full_precision

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


SMALLEST_DETERMINANT = 1e-6
"""Lower bound on determinants: below it they are rounding errors of float32, and the gradient of √ is unbounded."""


@full_precision
def pair_volume(
    anchors: Float[Tensor, "anchors dim"],
    items: Float[Tensor, "items dim"],
    smallest_determinant: float = SMALLEST_DETERMINANT,
) -> Float[Tensor, "anchors items"]:
    """V_ij = √(1 − x²) with x = t_i·v_j: the area of the parallelogram of two vectors, L2-normalised here (0 … 1).

    A smaller area means more similar vectors; opposite vectors span no area either. 1 − x² is clamped from below: with
    the default, areas are at least 1e-3, and the gradient of clamped ones is 0, never infinite. Use 0 where nothing is
    trained.
    """
    cosine = normalize(anchors, dim=1) @ normalize(items, dim=1).T
    return (1 - cosine.square()).clamp(min=smallest_determinant).sqrt()


@full_precision
def triple_volume(
    anchors: Float[Tensor, "anchors dim"],
    first: Float[Tensor, "items dim"],
    second: Float[Tensor, "items dim"],
    smallest_determinant: float = SMALLEST_DETERMINANT,
) -> Float[Tensor, "anchors items"]:
    """V_ij = √det G(t_i, v_j, a_j): the volume of the parallelepiped of three vectors, L2-normalised here (0 … 1).

    G is their Gram matrix, det G = 1 + 2xyz − x² − y² − z², x = t·v, y = t·a, z = v·a (Cicchetti et al. 2025, GRAM).
    The determinant is clamped from below as in `pair_volume`.
    """
    anchors, first, second = (normalize(vectors, dim=1) for vectors in (anchors, first, second))
    x, y, z = anchors @ first.T, anchors @ second.T, (first * second).sum(dim=1)
    determinant = 1 + 2 * x * y * z - x.square() - y.square() - z.square()
    return determinant.clamp(min=smallest_determinant).sqrt()
