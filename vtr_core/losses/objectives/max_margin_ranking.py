"""HowTo100M's max-margin ranking loss."""

import torch
from jaxtyping import Bool, Float
from torch import Tensor
from torch.nn.functional import normalize

from vtr_core.config.losses.contrastive import MaxMarginRankingConfig
from vtr_core.data.batches.rows import RowKeys
from vtr_core.losses.blocks import both_blocks, whole_weights
from vtr_core.losses.objectives.objective import ItemTerms, Objective
from vtr_core.nn.precision import full_precision


@full_precision
def max_margin_ranking(
    similarity: Float[Tensor, "batch batch"], margin: float, negatives: Bool[Tensor, "batch batch"] | None = None
) -> Float[Tensor, ""]:
    """HowTo100M's ranking loss: every negative should lie `margin` below the match of its row and of its column.

    L = mean_ij max(0, δ + S_ij − S_ii) + mean_ij max(0, δ + S_ij − S_jj)        (Miech et al. 2019, Eq. 3)

    The means are over all B² entries. The diagonal is not masked, as in the published code, and adds 2δ/B; entries that
    are no negatives count as 0.
    """
    weights = whole_weights(negatives, similarity)
    return (mean_hinges(similarity, weights, 0, margin) + mean_hinges(similarity.T, weights.T, 0, margin)).mean()


def mean_hinges(
    similarity: Float[Tensor, "block items"], weights: Float[Tensor, "block items"], first: int, margin: float
) -> Float[Tensor, " block"]:
    """mean_j w_ij max(0, δ + S_ij − S_ii) for the rows of a block, in one direction; the diagonal has a weight too."""
    matches = similarity.diagonal(first).unsqueeze(1)
    return (weights * torch.relu(margin + similarity - matches)).mean(dim=1)


class MaxMarginRanking(Objective):
    """`max_margin_ranking` of the cosines of embeddings, which it L2-normalises itself (Miech et al. 2019, Eq. 2)."""

    is_bounded = True

    def __init__(self, config: MaxMarginRankingConfig) -> None:
        super().__init__(config)
        self._margin = config.margin

    def item_terms(
        self,
        modalities: tuple[Float[Tensor, "items dim"], ...],
        step: int,  # noqa: ARG002
        keys: RowKeys,  # noqa: ARG002
    ) -> ItemTerms:
        """Hinge losses in both directions."""
        a, b = (normalize(vectors, dim=1) for vectors in modalities)

        def terms(block: slice, weights: Tensor) -> Tensor:
            rows, columns = both_blocks(a, b, block, self._multiply)
            of_rows = mean_hinges(rows, weights, block.start, self._margin)
            return of_rows + mean_hinges(columns, weights, block.start, self._margin)

        return terms

    def scores(self, a: Float[Tensor, "rows dim"], b: Float[Tensor, "items dim"]) -> Float[Tensor, "rows items"]:
        """Cosines over the margin; plain cosines without one."""
        return normalize(a, dim=1) @ normalize(b, dim=1).T / (self._margin or 1.0)
