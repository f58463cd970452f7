"""InfoNCE with a temperature."""

import torch
from jaxtyping import Bool, Float
from torch import Tensor
from torch.nn.functional import normalize

from vtr_core.config.losses.contrastive import InfoNceConfig
from vtr_core.data.batches.rows import RowKeys
from vtr_core.losses.blocks import both_blocks
from vtr_core.losses.negatives import same_caption
from vtr_core.losses.objectives.masked_margin_softmax import cross_entropies, masked_margin_softmax
from vtr_core.losses.objectives.objective import ItemTerms, Objective
from vtr_core.losses.objectives.temperature import Temperature
from vtr_core.nn.precision import full_precision


@full_precision
def info_nce(
    similarity: Float[Tensor, "batch batch"],
    temperature: float | Float[Tensor, ""],
    negatives: Bool[Tensor, "batch batch"] | None = None,
) -> Float[Tensor, ""]:
    """InfoNCE in both directions, summed: `masked_margin_softmax` of S/τ without a margin (van den Oord et al. 2018).

    `similarity` is the cosine of the embeddings; τ may be a learnable scalar.
    """
    return masked_margin_softmax(similarity / temperature, 0.0, negatives)


def mean_cross_entropies(
    similarity: Float[Tensor, "block items"],
    weights: Float[Tensor, "block items"],
    positives: Bool[Tensor, "block items"],
) -> Float[Tensor, " block"]:
    """The mean over a row's positives p of −log( e^{S_ip} / (e^{S_ip} + Σ_{j no positive} w_ij e^{S_ij}) ).

    Positives are no negatives of each other, whatever their weight: L_out of Khosla et al. 2020 (Supervised contrastive
    learning, Eq. 2) without the other positives in the denominator. With one positive it is `cross_entropies`.
    """
    counts = weights.masked_fill(positives, 0)
    # A row without negatives has the loss 0; −∞ throughout would make its gradient NaN.
    logits = (similarity + counts.log()).masked_fill(counts == 0, torch.finfo(similarity.dtype).min / 2)
    negatives = logits.logsumexp(dim=1, keepdim=True)
    terms = torch.logaddexp(similarity, negatives) - similarity
    return torch.where(positives, terms, 0).sum(dim=1) / positives.sum(dim=1)


class InfoNce(Objective):
    """`info_nce` of the cosines of embeddings, which it L2-normalises itself."""

    def __init__(self, config: InfoNceConfig) -> None:
        super().__init__(config)
        self.temperature = Temperature(config)
        self._positives = config.positives

    def item_terms(
        self,
        modalities: tuple[Float[Tensor, "items dim"], ...],
        step: int,  # noqa: ARG002
        keys: RowKeys,
    ) -> ItemTerms:
        """Cross-entropies of S/τ in both directions, of each row's match or of all its positives."""
        scale = self.temperature(modalities[0])
        a, b = normalize(modalities[0], dim=1) * scale, normalize(modalities[1], dim=1)

        def terms(block: slice, weights: Tensor) -> Tensor:
            rows, columns = both_blocks(a, b, block, self._multiply)
            if self._positives == "match":
                return cross_entropies(rows, weights, block.start) + cross_entropies(columns, weights, block.start)
            positives = same_caption(keys, block)
            return mean_cross_entropies(rows, weights, positives) + mean_cross_entropies(columns, weights, positives)

        return terms

    def scores(self, a: Float[Tensor, "rows dim"], b: Float[Tensor, "items dim"]) -> Float[Tensor, "rows items"]:
        """Cosines over τ."""
        return self.temperature(a) * normalize(a, dim=1) @ normalize(b, dim=1).T

    def metrics(self, step: int) -> dict[str, Tensor]:  # noqa: ARG002
        """The temperature where it is learned."""
        return self.temperature.metrics()
