"""Concept-space losses per row: concept detection, and concentration of a match on few concepts."""

from jaxtyping import Float
from torch import Tensor
from torch.nn.functional import binary_cross_entropy_with_logits

from vtr_core.config.concept_similarity import ConceptSimilarity
from vtr_core.contributions import contributions
from vtr_core.nn.precision import full_precision


@full_precision
def concept_terms(
    scores: Float[Tensor, "rows concepts"], labels: Float[Tensor, "rows concepts"]
) -> Float[Tensor, " rows"]:
    """−mean_k [y_k log σ(h_k) + (1 − y_k) log(1 − σ(h_k))] of each row (thesis, Eq. 3.12, there a sum over k).

    labels: soft ones in [0, 1]. Computed from the scores h, finite whatever their size.
    """
    return binary_cross_entropy_with_logits(scores, labels.to(scores), reduction="none").mean(dim=1)


def diffuse_terms(
    video: Float[Tensor, "pairs concepts"], text: Float[Tensor, "pairs concepts"], k: int, similarity: ConceptSimilarity
) -> Float[Tensor, " pairs"]:
    """1 − c_k of each pair: the share of its similarity that does not come from its k strongest concepts.

    Inputs are the values that the similarity compares: σ(h) for jaccard, h for cosine. In [0, 1]; 1, without a
    gradient, for a pair without common concepts. c_k is that of thesis, Eq. 5.5, whose mean over pairs is C@k; training
    for it is ours.
    """
    shares = contributions(video, text, similarity)
    return 1 - shares.topk(min(k, shares.shape[1]), dim=1).values.sum(dim=1)
