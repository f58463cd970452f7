"""Training for causality: a matched pair's similarity should come from few concepts."""

from jaxtyping import Float
from torch import Tensor

from vtr_core.config.concept_similarity import ConceptSimilarity
from vtr_core.contributions import contributions


def diffuse_terms(
    video: Float[Tensor, "pairs concepts"], text: Float[Tensor, "pairs concepts"], k: int, similarity: ConceptSimilarity
) -> Float[Tensor, " pairs"]:
    """1 − c_k of each pair: the share of its similarity that does not come from its k strongest concepts.

    It takes what the similarity compares: σ(h) for jaccard, h for cosine. In [0, 1]; 1, without a gradient, for a pair
    that shares nothing. c_k is that of thesis, Eq. 5.5, whose mean over pairs is C@k; training for it is ours.
    """
    shares = contributions(video, text, similarity)
    return 1 - shares.topk(min(k, shares.shape[1]), dim=1).values.sum(dim=1)
