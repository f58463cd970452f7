"""MIL-NCE: contrastive loss with a bag of candidate captions per clip."""

from itertools import combinations

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from vtr_core.data.batches import RowKeys
from vtr_core.losses.objective import Group, ItemTerms, Objective, in_order, log_weights, whole_weights
from vtr_core.nn.embeddings import TEXT, Embeddings
from vtr_core.nn.precision import full_precision


@full_precision
def mil_nce(
    similarity: Float[Tensor, "batch texts"], negatives: Bool[Tensor, "batch batch"] | None = None
) -> Float[Tensor, ""]:
    """MIL-NCE: every clip has a bag of candidate texts, at least one of which is assumed to match.

    L = −mean_i log( Σ_{c} e^{S_i,ic} / (Σ_{j,c} e^{S_i,jc} + Σ_{j,c} e^{S_j,ic}) )        (Miech et al. 2020, Eq. 1)

    The texts of clip j are columns j·c … (j+1)·c − 1. The positives are in both sums of the denominator, as in the
    published code, so the minimum is ln 2, not 0. Raises ValueError where the number of texts is not a multiple of the
    number of clips.
    """
    batch, texts = similarity.shape
    if texts % batch:
        raise ValueError(f"{texts} texts cannot be divided into bags of {batch} clips")
    bags, weights = similarity.unflatten(1, (batch, -1)), whole_weights(negatives, similarity)
    return bag_terms(bags, bags.transpose(0, 1), weights, weights.T, 0).mean()


def bag_terms(
    rows: Float[Tensor, "block items bag"],
    columns: Float[Tensor, "block items bag"],
    row_weights: Float[Tensor, "block items"],
    column_weights: Float[Tensor, "block items"],
    first: int,
) -> Float[Tensor, " block"]:
    """−log( Σ_c e^{S_i,ic} / (Σ_{j,c} v_ij e^{S_i,jc} + Σ_{j,c} w_ij e^{S_j,ic}) ) for the items of a block.

    `rows[i, j]` compares clip i with the bag of j, `columns[i, j]` clip j with the bag of i; v are `row_weights`, w
    `column_weights`, 1 at the matches. Weights that depend on the row are those of item i in both sums.
    """
    positives = rows.diagonal(first).logsumexp(dim=0)
    sums = [
        (similarity + log_weights(weights, first).unsqueeze(2)).flatten(1).logsumexp(dim=1)
        for similarity, weights in ((rows, row_weights), (columns, column_weights))
    ]
    return torch.logaddexp(*sums) - positives


class MilNce(Objective):
    """`mil_nce` of the plain dot products, as in the paper; its minimum is ln 2 for every pair of modalities.

    In pairs with text a clip's bag is its own caption and its further candidates (`Embeddings.candidates`); in pairs
    without text a bag holds one vector. Duplicates are recognised by clip and own caption, not by the candidates.
    """

    def groups(self, embeddings: Embeddings) -> list[Group]:
        """Every pair of modalities as (clips, bags); in pairs with text, the text provides the bags."""
        present, groups = embeddings.present, []
        for a, b in combinations(in_order(embeddings.vectors), 2):
            clips, bags = (b, a) if a == TEXT else (a, b)
            modalities = (embeddings.vectors[clips], _bags(embeddings, bags))
            groups.append(Group(f"{a}_{b}", modalities, present[a] & present[b]))
        return groups

    def item_terms(
        self,
        modalities: tuple[Float[Tensor, "items ..."], ...],
        step: int,  # noqa: ARG002
        keys: RowKeys,  # noqa: ARG002
    ) -> ItemTerms:
        """Clip i against all bags, and all clips against the bag of i."""
        clips, bags = modalities

        def terms(block: slice, weights: Tensor) -> Tensor:
            size = bags.shape[1]
            rows = self._multiply(clips[block], bags.flatten(0, 1)).unflatten(1, (-1, size))
            columns = self._multiply(bags[block].flatten(0, 1), clips).unflatten(0, (-1, size)).transpose(1, 2)
            return bag_terms(rows, columns, weights, weights, block.start)

        return terms

    def scores(self, a: Float[Tensor, "rows dim"], b: Float[Tensor, "items dim"]) -> Float[Tensor, "rows items"]:
        """Dot products."""
        return a @ b.T


def _bags(embeddings: Embeddings, modality: str) -> Float[Tensor, "batch bag dim"]:
    vectors = embeddings.vectors[modality].unsqueeze(1)
    if modality != TEXT or embeddings.candidates is None:
        return vectors
    return torch.cat([vectors, embeddings.candidates], dim=1)
