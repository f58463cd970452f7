"""InfoNCE with a temperature."""

from jaxtyping import Bool, Float
from torch import Tensor
from torch.nn.functional import normalize

from vtr_core.config.losses.contrastive import InfoNceConfig
from vtr_core.losses.blocks import both_blocks
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


class InfoNce(Objective):
    """`info_nce` of the cosines of embeddings, which it L2-normalises itself."""

    def __init__(self, config: InfoNceConfig) -> None:
        super().__init__(config)
        self.temperature = Temperature(config)

    def item_terms(self, modalities: tuple[Float[Tensor, "items dim"], ...], step: int) -> ItemTerms:  # noqa: ARG002
        """Cross-entropies of S/τ in both directions."""
        scale = self.temperature(modalities[0])
        a, b = normalize(modalities[0], dim=1) * scale, normalize(modalities[1], dim=1)

        def terms(block: slice, weights: Tensor) -> Tensor:
            rows, columns = both_blocks(a, b, block, self._multiply)
            return cross_entropies(rows, weights, block.start) + cross_entropies(columns, weights, block.start)

        return terms

    def scores(self, a: Float[Tensor, "rows dim"], b: Float[Tensor, "items dim"]) -> Float[Tensor, "rows items"]:
        """Cosines over τ."""
        return self.temperature(a) * normalize(a, dim=1) @ normalize(b, dim=1).T

    def metrics(self, step: int) -> dict[str, Tensor]:  # noqa: ARG002
        """The temperature where it is learned."""
        return self.temperature.metrics()
