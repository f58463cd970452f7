"""Contrastive loss with an additive angular margin: cos(θ̂ + M) in place of cos θ̂ at the positive."""

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from vtr_core.config.losses.granularity import MarginCompat
from vtr_core.losses.blocks import is_match
from vtr_core.losses.granularity.bias import row_cross_entropy
from vtr_core.nn.precision import full_precision

EPSILON = 1e-8
"""Added under square roots to keep gradients finite at cosines of ±1."""


def margined_cosine(
    cosine: Float[Tensor, " pairs"], bias: Float[Tensor, " pairs"], detach: bool = True
) -> Float[Tensor, " pairs"]:
    """cos(θ̂ + M) of cos θ̂ and cos ξ̂, with M = min(ξ̂, π − θ̂) (Gu and Yao 2023, Eq. 6).

    cos decreases on [0, π], so cos M = max(cos ξ̂, −cos θ̂), and with s = cos θ̂ the result is cos(θ̂ + M) =
    s cos M − √(1 − s² + ε) · √(1 − cos² M + ε). No angle is computed, whose derivative would be infinite at s = ±1.
    detach: M is a constant for the gradient.
    """
    margin = torch.maximum(bias, -cosine)
    if detach:
        margin = margin.detach()
    return cosine * margin - _sine(cosine) * _sine(margin)


def _sine(cosine: Float[Tensor, " pairs"]) -> Float[Tensor, " pairs"]:
    return ((1 - cosine**2).clamp(min=0) + EPSILON).sqrt()


def published_cosine(
    cosine: Float[Tensor, " pairs"], bias: Float[Tensor, " pairs"], detach: bool = True
) -> Float[Tensor, " pairs"]:
    """cos(θ̂ + M) with M = 1 − σ(b), b the dot product of the bins' embeddings, not normalised.

    This is BC loss (Zhang et al. 2022) as in its published code. M is at most 1, and is not bounded by π − θ̂.
    """
    margin = 1 - torch.sigmoid(bias)
    if detach:
        margin = margin.detach()
    return cosine * margin.cos() - _sine(cosine) * margin.sin()


@full_precision
def margin_contrastive_loss(
    similarity: Float[Tensor, "batch batch"],
    bias: Float[Tensor, " batch"],
    temperature: float,
    negatives: Bool[Tensor, "batch batch"] | None = None,
    compat: MarginCompat = "none",
    detach: bool = True,
) -> Float[Tensor, ""]:
    """L_mcl, the mean of `margin_terms` over all videos.

    similarity: cos θ̂ of every video (rows) with every caption, matches on the diagonal; bias: cos ξ̂ of the matches,
    or with compat "bcloss" the dot product of their bins' embeddings.
    """
    return margin_terms(similarity, bias, 0, temperature, negatives, compat, detach).mean()


@full_precision
def margin_terms(
    similarity: Float[Tensor, "block items"],
    bias: Float[Tensor, " block"],
    first: int,
    temperature: float,
    negatives: Bool[Tensor, "block items"] | None = None,
    compat: MarginCompat = "none",
    detach: bool = True,
) -> Float[Tensor, " block"]:
    """−log e^{cos(θ̂ᵢᵢ + Mᵢ)/τ₃} / (e^{cos(θ̂ᵢᵢ + Mᵢ)/τ₃} + Σ_{j ≠ i} e^{cos θ̂ᵢⱼ/τ₃}) of the videos i (Eq. 5).

    The match of row k is in column `first` + k. compat "bcloss": see `published_cosine`; in the denominator the
    positive has no margin.
    """
    matches = is_match(similarity, first)
    positive = (published_cosine if compat == "bcloss" else margined_cosine)(similarity[matches], bias, detach)
    if compat == "bcloss":
        without = row_cross_entropy(similarity / temperature, first, negatives)
        return without + (similarity[matches] - positive) / temperature
    with_margin = torch.where(matches, positive.unsqueeze(1), similarity)
    return row_cross_entropy(with_margin / temperature, first, negatives)
