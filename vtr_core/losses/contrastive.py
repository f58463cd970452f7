"""Contrastive losses of a similarity matrix whose diagonal holds the matching pairs, and of a batch."""

from itertools import combinations
from math import log
from typing import assert_never

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn
from torch.nn.functional import logsigmoid, normalize

from vtr_core.config.losses import (
    GeometricMargin,
    InfoNceConfig,
    LinearMargin,
    MaskedMarginSoftmaxConfig,
    MaxMarginRankingConfig,
    MilNceConfig,
    ObjectiveConfig,
    SigmoidConfig,
)
from vtr_core.data.batches import RowKeys
from vtr_core.losses.objective import (
    Group,
    ItemTerms,
    Modalities,
    Objective,
    Temperature,
    in_both_directions,
    in_order,
    is_match,
    log_weights,
    margin_at,
    same_caption,
    scheduled_margin,
    whole_weights,
)
from vtr_core.nn.embeddings import TEXT, Embeddings
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

    def item_terms(self, modalities: Modalities, step: int, keys: RowKeys) -> ItemTerms:  # noqa: ARG002
        """Cross-entropies in both directions; δ_i applies to row i and column i."""
        margins = per_row(margin_at(self._margin, step, *modalities), modalities[0])
        a, b = modalities
        return in_both_directions(
            a,
            b,
            lambda similarity, weights, block: cross_entropies(similarity, weights, block.start, margins[block]),
        )

    def metrics(self, step: int) -> dict[str, Tensor]:
        """The margin where it follows a schedule."""
        if not isinstance(self._margin, (GeometricMargin, LinearMargin)):
            return {}
        return {"margin": torch.tensor(scheduled_margin(self._margin, step))}


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

    def item_terms(self, modalities: Modalities, step: int, keys: RowKeys) -> ItemTerms:  # noqa: ARG002
        """Cross-entropies of S/τ in both directions, of each row's match or of all its positives."""

        def one_direction(similarity: Tensor, weights: Tensor, block: slice) -> Tensor:
            if self._positives == "match":
                return cross_entropies(similarity, weights, block.start)
            return mean_cross_entropies(similarity, weights, same_caption(keys, block))

        return in_both_directions(*self.compared(*modalities), one_direction)

    def compared(self, a: Tensor, b: Tensor) -> tuple[Tensor, Tensor]:
        """Unit vectors, the first ones over τ."""
        return normalize(a, dim=1) * self.temperature(a), normalize(b, dim=1)

    def metrics(self, step: int) -> dict[str, Tensor]:  # noqa: ARG002
        """The temperature where it is learned."""
        return self.temperature.metrics()


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

    def item_terms(self, modalities: Modalities, step: int, keys: RowKeys) -> ItemTerms:  # noqa: ARG002
        """Hinge losses in both directions."""
        return in_both_directions(
            *self.compared(*modalities),
            lambda similarity, weights, block: mean_hinges(similarity, weights, block.start, self._margin),
        )

    def compared(self, a: Tensor, b: Tensor) -> tuple[Tensor, Tensor]:
        """Unit vectors."""
        return normalize(a, dim=1), normalize(b, dim=1)

    def scores(self, a: Float[Tensor, "rows dim"], b: Float[Tensor, "items dim"]) -> Float[Tensor, "rows items"]:
        """Cosines over the margin; plain cosines without one."""
        return super().scores(a, b) / (self._margin or 1.0)


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

    def item_terms(self, modalities: Modalities, step: int, keys: RowKeys) -> ItemTerms:  # noqa: ARG002
        """The binary losses of the rows t S + b."""
        (a, b), bias = self.compared(*modalities), self.bias.to(modalities[0])
        return lambda block, weights: binary_terms(a[block] @ b.T + bias, weights, block.start)

    def compared(self, a: Tensor, b: Tensor) -> tuple[Tensor, Tensor]:
        """Unit vectors, the first ones times t."""
        return normalize(a, dim=1) * self.log_scale.to(a).exp(), normalize(b, dim=1)

    def metrics(self, step: int) -> dict[str, Tensor]:  # noqa: ARG002
        """t and b, where they are learned."""
        return {"scale": self.log_scale.detach().exp(), "bias": self.bias.detach()} if self._learnable else {}


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

    def item_terms(self, modalities: Modalities, step: int, keys: RowKeys) -> ItemTerms:  # noqa: ARG002
        """Clip i against all bags, and all clips against the bag of i."""
        clips, bags = modalities

        def terms(block: slice, weights: Tensor) -> Tensor:
            size = bags.shape[1]
            rows = (clips[block] @ bags.flatten(0, 1).T).unflatten(1, (-1, size))
            columns = (bags[block].flatten(0, 1) @ clips.T).unflatten(0, (-1, size)).transpose(1, 2)
            return bag_terms(rows, columns, weights, weights, block.start)

        return terms


def _bags(embeddings: Embeddings, modality: str) -> Float[Tensor, "batch bag dim"]:
    vectors = embeddings.vectors[modality].unsqueeze(1)
    if modality != TEXT or embeddings.candidates is None:
        return vectors
    return torch.cat([vectors, embeddings.candidates], dim=1)


def build_objective(config: ObjectiveConfig) -> Objective:
    """The loss of a batch's embeddings in one joint space, with its learnable parameters where it has any."""
    match config:
        case MaskedMarginSoftmaxConfig():
            return MaskedMarginSoftmax(config)
        case InfoNceConfig():
            return InfoNce(config)
        case MilNceConfig():
            return MilNce(config)
        case MaxMarginRankingConfig():
            return MaxMarginRanking(config)
        case SigmoidConfig():
            return Sigmoid(config)
        case _:
            assert_never(config)
