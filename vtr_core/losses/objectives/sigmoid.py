"""SigLIP's sigmoid loss."""

from math import log

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn
from torch.nn.functional import logsigmoid, normalize

from vtr_core.config.losses.contrastive import SigmoidConfig
from vtr_core.data.batches.rows import RowKeys
from vtr_core.losses.blocks import is_match, whole_weights
from vtr_core.losses.objectives.objective import ItemTerms, Objective
from vtr_core.nn.precision import full_precision


@full_precision
def sigmoid_contrastive(
    similarity: Float[Tensor, "batch batch"],
    scale: float | Float[Tensor, ""] = 10.0,
    bias: float | Float[Tensor, ""] = -10.0,
    negatives: Bool[Tensor, "batch batch"] | None = None,
) -> Float[Tensor, ""]:
    """SigLIP: a binary classification of every pair.

    L = −(1/B) Σ_ij log σ(z_ij (t S_ij + b)), z = 1 on the diagonal and −1 elsewhere        (Zhai et al. 2023, Eq. 2)

    `scale` t and `bias` b may be learnable scalars; the defaults are their published initial values.
    """
    return binary_terms(scale * similarity + bias, whole_weights(negatives, similarity), 0).mean()


def binary_terms(
    logits: Float[Tensor, "block items"], weights: Float[Tensor, "block items"], first: int
) -> Float[Tensor, " block"]:
    """−Σ_j w_ij log σ(z_ij x_ij) for the rows of a block; w = 1 at the matches.

    Each pair counts once, in its row: there is no second sum over columns.
    """
    match = is_match(logits, first)
    losses = -logsigmoid(torch.where(match, logits, -logits))
    return (torch.where(match, 1.0, weights) * losses).sum(dim=1)


class Sigmoid(Objective):
    """`sigmoid_contrastive` of the cosines of embeddings, which it L2-normalises itself; log t and b can be learned.

    The weight of an entry follows from the counts of its row, that of the group's first modality.
    """

    guesses_alike = False

    def __init__(self, config: SigmoidConfig) -> None:
        super().__init__(config)
        self._learnable = config.learnable
        self.log_scale = nn.Parameter(torch.tensor(log(config.scale)), requires_grad=config.learnable)
        self.bias = nn.Parameter(torch.tensor(config.bias), requires_grad=config.learnable)

    def item_terms(
        self,
        modalities: tuple[Float[Tensor, "items dim"], ...],
        step: int,  # noqa: ARG002
        keys: RowKeys,  # noqa: ARG002
    ) -> ItemTerms:
        """The binary losses of the rows t S + b."""
        scale, bias = self.log_scale.to(modalities[0]).exp(), self.bias.to(modalities[0])
        a, b = normalize(modalities[0], dim=1) * scale, normalize(modalities[1], dim=1)

        def terms(block: slice, weights: Tensor) -> Tensor:
            return binary_terms(self._multiply(a[block], b) + bias, weights, block.start)

        return terms

    def scores(self, a: Float[Tensor, "rows dim"], b: Float[Tensor, "items dim"]) -> Float[Tensor, "rows items"]:
        """t times cosines."""
        return self.log_scale.to(a).exp() * normalize(a, dim=1) @ normalize(b, dim=1).T

    def metrics(self, step: int) -> dict[str, Tensor]:  # noqa: ARG002
        """t and b, where they are learned."""
        return {"scale": self.log_scale.detach().exp(), "bias": self.bias.detach()} if self._learnable else {}
