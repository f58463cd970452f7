"""Contributions of concepts to the similarity of two rows."""

from typing import assert_never

import torch
from jaxtyping import Float
from torch import Tensor

from vtr_core.config.concept_similarity import Comparison


def contributions(
    video: Float[Tensor, "pairs concepts"], text: Float[Tensor, "pairs concepts"], similarity: Comparison
) -> Float[Tensor, "pairs concepts"]:
    """w_i(v, s), the share of concept i in the similarity of a video v and a caption s; row by row they sum to 1.

    jaccard: min(g_i(v), g_i(s)) / Σ_j min(g_j(v), g_j(s)).     cosine, dot: |h_i(v) h_i(s)| / Σ_j |h_j(v) h_j(s)|.
    A pair that shares nothing has contributions 0. Source: thesis, equation 5.3.

    dot is the similarity Σ_i z_i q_i itself, in which a concept of a negative term lowers the similarity. Its share is
    of all that moves the similarity up or down, not of the difference that is left, which may be 0 or negative; so
    shares stay in [0, 1], and C@k grows with k, as under the other two. `raising` leaves out what lowers it.
    """
    match similarity:
        case "jaccard":
            shared = torch.minimum(video, text)
        case "cosine" | "dot":
            shared = (video * text).abs()
        case _:
            assert_never(similarity)
    total = shared.sum(dim=1, keepdim=True)
    return shared / torch.where(total > 0, total, 1)


def raising(
    video: Float[Tensor, "pairs concepts"], text: Float[Tensor, "pairs concepts"]
) -> Float[Tensor, "pairs concepts"]:
    """The contributions under "dot" of the concepts that raise the similarity; 0 of those that lower it."""
    return torch.where(video * text > 0, contributions(video, text, "dot"), 0)
