"""MMS, the masked margin softmax."""

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from vtr_core.config.losses.contrastive import MaskedMarginSoftmaxConfig
from vtr_core.config.losses.margins import GeometricMargin, LinearMargin
from vtr_core.data.batches.rows import RowKeys
from vtr_core.losses.blocks import both_blocks, log_weights, whole_weights
from vtr_core.losses.objectives.margins import margin_at, scheduled_margin
from vtr_core.losses.objectives.objective import ItemTerms, Objective
from vtr_core.nn.precision import full_precision


@full_precision
def masked_margin_softmax(
    similarity: Float[Tensor, "batch batch"],
    margin: float | Float[Tensor, " batch"],
    negatives: Bool[Tensor, "batch batch"] | None = None,
) -> Float[Tensor, ""]:
    """MMS: cross-entropy over rows plus that over columns, with a margin subtracted from the matching similarity.

    S′ = S − diag(δ);  L = −mean_i log softmax_j(S′_ij)|_{j=i} − mean_j log softmax_i(S′_ij)|_{i=j}

    Source: Ilharco et al. 2019, Eq. 2; Duarte et al., section 3.3. The sum of both directions, each a mean over the
    batch. `margin` δ is one number (a float32, as in the published code) or one per row. A row without negatives
    contributes 0.
    """
    weights, margins = whole_weights(negatives, similarity), per_row(margin, similarity)
    rows = cross_entropies(similarity, weights, 0, margins)
    return (rows + cross_entropies(similarity.T, weights.T, 0, margins)).mean()


def cross_entropies(
    similarity: Float[Tensor, "block items"],
    weights: Float[Tensor, "block items"],
    first: int,
    margins: Float[Tensor, " block"] | float = 0.0,
) -> Float[Tensor, " block"]:
    """−log of the match's softmax probability in every row of a block starting at item `first`, in one direction.

    −log( e^{S_ii − δ_i} / (e^{S_ii − δ_i} + Σ_{j≠i} w_ij e^{S_ij}) ). The match's own weight is ignored.
    """
    at_match = -margins.unsqueeze(1) if isinstance(margins, Tensor) else -margins
    matches = similarity.diagonal(first) - margins
    return (similarity + log_weights(weights, first, at_match)).logsumexp(dim=1) - matches


def per_row(margin: float | Float[Tensor, " batch"], like: Float[Tensor, "batch ..."]) -> Float[Tensor, " batch"]:
    """δ for every row. A plain number is rounded to float32, as in the published code, whatever the dtype of `like`."""
    if not isinstance(margin, Tensor):
        margin = torch.tensor(margin, dtype=torch.float32)
    return margin.to(like).expand(len(like))


class MaskedMarginSoftmax(Objective):
    """`masked_margin_softmax` of the plain dot products, with the margin of the current training step."""

    def __init__(self, config: MaskedMarginSoftmaxConfig) -> None:
        super().__init__(config)
        self._margin = config.margin

    def item_terms(
        self,
        modalities: tuple[Float[Tensor, "items dim"], ...],
        step: int,
        keys: RowKeys,  # noqa: ARG002
    ) -> ItemTerms:
        """Cross-entropies in both directions; δ_i applies to row i and column i."""
        a, b = modalities
        margins = per_row(margin_at(self._margin, step, a, b), a)

        def terms(block: slice, weights: Tensor) -> Tensor:
            rows, columns = both_blocks(a, b, block, self._multiply)
            own = margins[block]
            return cross_entropies(rows, weights, block.start, own) + cross_entropies(
                columns, weights, block.start, own
            )

        return terms

    def scores(self, a: Float[Tensor, "rows dim"], b: Float[Tensor, "items dim"]) -> Float[Tensor, "rows items"]:
        """Dot products."""
        return a @ b.T

    def metrics(self, step: int) -> dict[str, Tensor]:
        """The margin where it follows a schedule."""
        if not isinstance(self._margin, (GeometricMargin, LinearMargin)):
            return {}
        return {"margin": torch.tensor(scheduled_margin(self._margin, step))}
