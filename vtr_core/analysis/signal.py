"""Signal of a batch: share of variance between rows, deviation of similarities, effective rank."""

import torch
from jaxtyping import Float
from torch import Tensor

MOST_ROWS = 256
"""Maximum number of rows that `effective_rank` uses, the first ones."""


def row_share(values: Float[Tensor, "rows ..."]) -> float:
    """The share of the rows' energy that differs between them: 1 − ‖mean of the rows‖² / mean of ‖row‖².

    0 where all rows are alike, or 0 throughout; 1 where their mean is 0.
    """
    rows = values.detach().flatten(1).double()
    energy = rows.square().sum(dim=1).mean()
    return float(1 - rows.mean(dim=0).square().sum() / energy) if energy > 0 else 0.0


def score_deviation(scores: Float[Tensor, "rows items"]) -> float:
    """The standard deviation of scores around the mean of their row: 0 where rows do not discriminate items."""
    scores = scores.detach().double()
    return float((scores - scores.mean(dim=1, keepdim=True)).square().mean().sqrt())


def effective_rank(vectors: Float[Tensor, "rows dim"]) -> float:
    """exp(H(p)), p_k the share of the variance along the k-th principal axis (Roy and Vetterli 2007, Definition 1).

    At most MOST_ROWS rows are used, so it is at most MOST_ROWS − 1. 1 where all differences lie on a line, 0 where
    there are none.
    """
    rows = vectors.detach()[:MOST_ROWS].float()
    variances = torch.linalg.svdvals(rows - rows.mean(dim=0)).double().square()
    if variances.sum() <= torch.finfo(torch.float32).eps ** 2 * rows.square().sum():
        return 0.0
    shares = variances / variances.sum()
    return float(torch.special.entr(shares).sum().exp())
