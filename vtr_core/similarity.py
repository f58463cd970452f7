"""Similarities between two sets of vectors, higher is more alike; always in float32 or more."""

from collections.abc import Callable
from typing import Literal, assert_never

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn.functional import normalize

from vtr_core.nn.precision import full_precision
from vtr_core.nn.volume import pair_volume

SimilarityKind = Literal["dot", "cosine", "neg_euclidean", "generalized_jaccard", "neg_volume"]
Similarity = Callable[[Tensor, Tensor], Tensor]
"""(a (queries, dim), b (items, dim)) → (queries, items)."""


def similarity_function(kind: SimilarityKind) -> Similarity:
    """The similarity that a configuration names."""
    match kind:
        case "dot":
            return dot
        case "cosine":
            return cosine
        case "neg_euclidean":
            return neg_euclidean
        case "generalized_jaccard":
            return generalized_jaccard
        case "neg_volume":
            return neg_volume
        case _:
            assert_never(kind)


def never_positive(kind: SimilarityKind) -> bool:
    """Whether a similarity is the negative of a distance: what multiplies scores must know."""
    return kind in ("neg_euclidean", "neg_volume")


@full_precision
def dot(a: Float[Tensor, "queries dim"], b: Float[Tensor, "items dim"]) -> Float[Tensor, "queries items"]:
    """a_i · b_j."""
    return a @ b.T


@full_precision
def cosine(a: Float[Tensor, "queries dim"], b: Float[Tensor, "items dim"]) -> Float[Tensor, "queries items"]:
    """a_i · b_j / (‖a_i‖ ‖b_j‖); a zero vector has cosine 0 with everything."""
    return normalize(a, dim=1) @ normalize(b, dim=1).T


@full_precision
def neg_euclidean(a: Float[Tensor, "queries dim"], b: Float[Tensor, "items dim"]) -> Float[Tensor, "queries items"]:
    """−‖a_i − b_j‖, as √(‖a_i‖² + ‖b_j‖² − 2 a_i·b_j) in float64: in float32 it would cancel for near neighbours."""
    distance = torch.cdist(a.double(), b.double(), compute_mode="use_mm_for_euclid_dist")
    return -distance.to(torch.promote_types(a.dtype, b.dtype))


@full_precision
def generalized_jaccard(
    a: Float[Tensor, "queries concepts"], b: Float[Tensor, "items concepts"]
) -> Float[Tensor, "queries items"]:
    """Σ_k min(a_ik, b_jk) / Σ_k max(a_ik, b_jk) of non-negative vectors; two all-zero vectors have similarity 0.

    Never builds a (queries, items, concepts) tensor: with s = Σa + Σb and d = ‖a − b‖₁, Σmin = (s − d)/2 and
    Σmax = (s + d)/2 (spec of the dual encoding, "Losses").
    """
    sums = a.sum(dim=1).unsqueeze(1) + b.sum(dim=1)
    distance = torch.cdist(a, b, p=1.0)
    union = sums + distance
    return (sums - distance).clamp(min=0) / torch.where(union > 0, union, 1)


def neg_volume(a: Float[Tensor, "queries dim"], b: Float[Tensor, "items dim"]) -> Float[Tensor, "queries items"]:
    """−√(1 − cos²(a_i, b_j)), for models trained with a volume loss; a zero vector has −1 with everything."""
    return -pair_volume(a, b, smallest_determinant=0.0)
