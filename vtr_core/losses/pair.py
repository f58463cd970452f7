"""Contrastive losses of pairs: the distance of matching pairs is minimised, that of others pushed beyond a margin."""

from typing import Literal, assert_never

from jaxtyping import Bool, Float
from torch import Tensor

from vtr_core.nn.precision import full_precision

Reduction = Literal["sum", "mean", "none"]


@full_precision
def contrastive(
    distance: Float[Tensor, " pairs"],
    different: Bool[Tensor, " pairs"] | Float[Tensor, " pairs"],
    margin: float,
    reduction: Reduction = "sum",
) -> Float[Tensor, "..."]:
    """L = Σ ½ (1 − y) D + ½ y max(0, m − D), y = 1 for different faces (Siamese Capsule Networks, Eq. 4).

    Linear in D, which is a squared distance. `mean` divides by the number of pairs; `none` gives each pair's term.
    """
    y = different.to(distance)
    return _reduced(0.5 * (1 - y) * distance + 0.5 * y * (margin - distance).clamp(min=0), reduction)


@full_precision
def double_margin(
    distance: Float[Tensor, " pairs"],
    different: Bool[Tensor, " pairs"] | Float[Tensor, " pairs"],
    margin_positive: float,
    margin_negative: float,
    reduction: Reduction = "sum",
) -> Float[Tensor, "..."]:
    """L = Σ (1 − y) max(0, D − m_n)² + y max(0, m_p − D)²  (Eq. 5; Lin et al. 2015).

    margin_positive: m_p, the distance beyond which different faces cost nothing; margin_negative: m_n, the distance up
    to which matching faces cost nothing.
    """
    y = different.to(distance)
    matching = (distance - margin_negative).clamp(min=0).square()
    apart = (margin_positive - distance).clamp(min=0).square()
    return _reduced((1 - y) * matching + y * apart, reduction)


def _reduced(terms: Float[Tensor, " pairs"], reduction: Reduction) -> Float[Tensor, "..."]:
    match reduction:
        case "sum":
            return terms.sum()
        case "mean":
            return terms.mean()
        case "none":
            return terms
        case _:
            assert_never(reduction)
