"""Contributions of concepts to the similarity of two rows."""

from typing import assert_never

import torch
from jaxtyping import Float
from torch import Tensor

from vtr_core.config.concept_similarity import ConceptSimilarity


def contributions(
    video: Float[Tensor, "pairs concepts"], text: Float[Tensor, "pairs concepts"], similarity: ConceptSimilarity
) -> Float[Tensor, "pairs concepts"]:
    """w_i(v, s), the share of concept i in the similarity of a video v and a caption s; row by row they sum to 1.

    jaccard: min(g_i(v), g_i(s)) / Σ_j min(g_j(v), g_j(s)).     cosine: |h_i(v) h_i(s)| / Σ_j |h_j(v) h_j(s)|.
    A pair that shares nothing has contributions 0. Source: thesis, equation 5.3.
    """
    match similarity:
        case "jaccard":
            shared = torch.minimum(video, text)
        case "cosine":
            shared = (video * text).abs()
        case _:
            assert_never(similarity)
    total = shared.sum(dim=1, keepdim=True)
    return shared / torch.where(total > 0, total, 1)
