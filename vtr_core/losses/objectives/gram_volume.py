"""GRAM: contrastive loss on the volume spanned by the embeddings of a clip's modalities."""

import torch
from jaxtyping import Bool, Float
from torch import Tensor
from torch.nn.functional import normalize

from vtr_core.config.losses.contrastive import GramVolumeConfig
from vtr_core.data.batches.rows import RowKeys
from vtr_core.errors import ConfigError
from vtr_core.losses.blocks import both_blocks
from vtr_core.losses.groups import Group, in_order
from vtr_core.losses.objectives.masked_margin_softmax import cross_entropies
from vtr_core.losses.objectives.objective import ItemTerms, Objective
from vtr_core.losses.objectives.temperature import Temperature
from vtr_core.nn.embeddings import TEXT, Embeddings
from vtr_core.nn.volume import pair_volume, triple_volume


class GramVolume(Objective):
    """InfoNCE in both directions of −V/τ, V_ij the volume of text i with the other modalities of clip j.

    `pair_weight` times InfoNCE of the cosines of text with each of the others, at the same τ, is added: it aligns
    encoders that are not aligned yet.

    Source: Cicchetti et al. 2025 (GRAM), section 3. Text is the anchor; a clip's other modalities stay together.
    Every row with text takes part once, in the group of exactly the modalities that it has: "text_video_audio" with
    three-dimensional volumes, "text_video" and "text_audio" over the rows that lack the third with areas. Rows of
    different groups are no negatives of each other; rows without text take no part. A model of two modalities has one
    group. Raises ConfigError without text or with other than one or two further modalities.
    """

    guesses_alike = False

    def __init__(self, config: GramVolumeConfig) -> None:
        super().__init__(config)
        self.temperature = Temperature(config)
        self._pair_weight = config.pair_weight

    def groups(self, embeddings: Embeddings) -> list[Group]:
        """Text with both others, and with either of them where the other is missing."""
        names, vectors, present = in_order(embeddings.vectors), embeddings.vectors, embeddings.present
        if TEXT not in names or len(names) not in (2, 3):
            raise ConfigError(
                f"gram_volume takes text and one or two further modalities, got {', '.join(names)}; "
                "choose another loss.kind or other features"
            )
        text, *others = names
        if len(others) == 1:
            return [Group("_".join(names), (vectors[text], vectors[others[0]]), present[text] & present[others[0]])]
        groups = [Group("_".join(names), tuple(vectors[name] for name in names), _all_present(embeddings))]
        for name, other in (others, others[::-1]):
            rows = present[text] & present[name] & ~present[other]
            groups.append(Group(f"{text}_{name}", (vectors[text], vectors[name]), rows))
        return groups

    def item_terms(
        self,
        modalities: tuple[Float[Tensor, "items dim"], ...],
        step: int,  # noqa: ARG002
        keys: RowKeys,  # noqa: ARG002
    ) -> ItemTerms:
        """Text i against all clips, and all texts against clip i."""
        scale = self.temperature(modalities[0])
        text, others = modalities[0], modalities[1:]

        def terms(block: slice, weights: Tensor) -> Tensor:
            rows = _volumes(text[block], others)
            columns = rows if len(rows) == len(text) else _volumes(text, tuple(vectors[block] for vectors in others))
            of_rows = cross_entropies(-scale * rows, weights, block.start)
            of_columns = cross_entropies(-scale * columns.T, weights, block.start)
            return of_rows + of_columns + self._pair_terms(scale, modalities, block, weights)

        return terms

    def _pair_terms(
        self, scale: Tensor, modalities: tuple[Tensor, ...], block: slice, weights: Tensor
    ) -> float | Float[Tensor, " block"]:
        if self._pair_weight == 0:
            return 0.0
        text, *others = (normalize(vectors, dim=1) for vectors in modalities)
        blocks = [part for other in others for part in both_blocks(scale * text, other, block, self._multiply)]
        return self._pair_weight * torch.stack([cross_entropies(part, weights, block.start) for part in blocks]).sum(0)

    def scores(self, a: Float[Tensor, "rows dim"], b: Float[Tensor, "items dim"]) -> Float[Tensor, "rows items"]:
        """Cosines over τ, as in the pairwise InfoNCE terms."""
        return self.temperature(a) * normalize(a, dim=1) @ normalize(b, dim=1).T

    def metrics(self, step: int) -> dict[str, Tensor]:  # noqa: ARG002
        """The temperature where it is learned."""
        return self.temperature.metrics()


def _volumes(text: Float[Tensor, "texts dim"], others: tuple[Tensor, ...]) -> Float[Tensor, "texts clips"]:
    return pair_volume(text, others[0]) if len(others) == 1 else triple_volume(text, others[0], others[1])


def _all_present(embeddings: Embeddings) -> Bool[Tensor, " batch"]:
    return torch.stack(list(embeddings.present.values())).all(dim=0)
