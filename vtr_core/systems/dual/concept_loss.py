"""The detection of concepts as a classification with several labels."""

from jaxtyping import Float
from torch import Tensor
from torch.nn.functional import binary_cross_entropy_with_logits

from vtr_core.nn.precision import full_precision


@full_precision
def concept_terms(
    scores: Float[Tensor, "rows concepts"], labels: Float[Tensor, "rows concepts"]
) -> Float[Tensor, " rows"]:
    """−mean_k [y_k log σ(h_k) + (1 − y_k) log(1 − σ(h_k))] of each row (thesis, Eq. 3.12, there a sum over k).

    labels: soft ones in [0, 1]. Computed from the scores h, finite whatever their size.
    """
    return binary_cross_entropy_with_logits(scores, labels.to(scores), reduction="none").mean(dim=1)
