"""The volume of the parallelotope that several embeddings span (Gram determinant)."""

from jaxtyping import Float
from torch import Tensor
from torch.nn.functional import normalize

from vtr_core.nn.precision import full_precision

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
