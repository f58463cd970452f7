"""Triplet ranking losses over all negatives or the hardest one."""

from typing import Literal, assert_never

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from vtr_core.losses.objective import is_match
from vtr_core.nn.precision import full_precision

Negatives = Literal["hardest", "all"]


@full_precision
def hardest_negative_triplet(
    similarity: Float[Tensor, "batch batch"], margin: float, negatives: Bool[Tensor, "batch batch"] | None = None
) -> Float[Tensor, ""]:
    """Σ_i max(0, m + max_j S_ij − S_ii) + Σ_i max(0, m + max_j S_ji − S_ii) over the negatives j (VSE++; thesis, 3.9).

    negatives: `negatives[i, j]` says whether j is a negative of i, in both directions; by default all j but i are. The
    diagonal never is. A row or column without a negative costs 0. The sum is over the batch and both directions, not a
    mean.
    """
    apart = ~is_match(similarity, 0)
    counted = apart if negatives is None else negatives & apart
    matches = similarity.diagonal()
    rows = triplet_terms(similarity, counted, matches, margin, "hardest")
    return (rows + triplet_terms(similarity.T, counted, matches, margin, "hardest")).sum()


def triplet_terms(
    similarity: Float[Tensor, "block items"],
    negatives: Bool[Tensor, "block items"],
    matches: Float[Tensor, " block"],
    margin: float,
    compared: Negatives,
) -> Float[Tensor, " block"]:
    """The term of each row of a block of S, in one direction; `matches` are the scores of the rows' own items."""
    hinges = torch.relu(margin + similarity - matches.unsqueeze(1)) * negatives
    match compared:
        case "hardest":  # hinges are at least 0, so the zeros of masked entries change no maximum
            return hinges.amax(dim=1)
        case "all":
            return hinges.sum(dim=1)
        case _:
            assert_never(compared)
