"""Contrastive losses of a similarity matrix whose diagonal holds the matching pairs.

In every loss `similarity[i, j]` compares row i of one modality with row j of the other, and `negatives[i, j]` false
takes [i, j] out of the negatives; the diagonal always stays. Losses are float32 under autocast, float64 of float64.
"""

import torch
from jaxtyping import Bool, Float
from torch import Tensor
from torch.nn.functional import logsigmoid

from vtr_core.nn.precision import full_precision


@full_precision
def masked_margin_softmax(
    similarity: Float[Tensor, "batch batch"],
    margin: float | Float[Tensor, " batch"],
    negatives: Bool[Tensor, "batch batch"] | None = None,
) -> Float[Tensor, ""]:
    """MMS: cross-entropy over rows plus cross-entropy over columns, with a margin off the matching similarity.

    S′ = S − diag(δ);  L = −mean_i log softmax_j(S′_ij)|_{j=i} − mean_j log softmax_i(S′_ij)|_{i=j}

    Source: Ilharco et al. 2019, Eq. 2; Duarte et al., section 3.3. The sum of both directions, each a mean over the
    batch. `margin` δ is one number (a float32, as in the published code) or one per row. A row without negatives
    contributes 0.
    """
    logits = _without(similarity - torch.diag_embed(_per_row(margin, similarity)), negatives)
    rows, columns = logits.log_softmax(dim=1).diagonal(), logits.log_softmax(dim=0).diagonal()
    return -(rows.mean() + columns.mean())


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


@full_precision
def mil_nce(
    similarity: Float[Tensor, "batch texts"], negatives: Bool[Tensor, "batch batch"] | None = None
) -> Float[Tensor, ""]:
    """MIL-NCE: every clip has a bag of candidate texts, at least one of which is hoped to match.

    L = −mean_i log( Σ_{c} e^{S_i,ic} / (Σ_{j,c} e^{S_i,jc} + Σ_{j,c} e^{S_j,ic}) )        (Miech et al. 2020, Eq. 1)

    The texts of clip j are columns j·c … (j+1)·c − 1. The positives stand in both sums below, as in the published code,
    so the minimum is ln 2, not 0. Raises ValueError where the texts are not a multiple of the clips.
    """
    batch, texts = similarity.shape
    if texts % batch:
        raise ValueError(f"{texts} texts cannot be divided into bags of {batch} clips")
    bags = similarity.unflatten(1, (batch, -1))
    if negatives is not None:
        bags = bags.masked_fill(~_kept(negatives).unsqueeze(-1), -torch.inf)
    positives = bags.diagonal().logsumexp(dim=0)
    everything = torch.cat([bags, bags.transpose(0, 1)], dim=1).flatten(1).logsumexp(dim=1)
    return (everything - positives).mean()


@full_precision
def max_margin_ranking(
    similarity: Float[Tensor, "batch batch"], margin: float, negatives: Bool[Tensor, "batch batch"] | None = None
) -> Float[Tensor, ""]:
    """HowTo100M's ranking loss: every negative should lie `margin` below the match of its row and of its column.

    L = mean_ij max(0, δ + S_ij − S_ii) + mean_ij max(0, δ + S_ij − S_jj)        (Miech et al. 2019, Eq. 3)

    The means are over all B² entries. The diagonal is not masked, as in the published code, and adds 2δ/B; entries that
    are no negatives count as 0.
    """
    matches = similarity.diagonal()
    rows = torch.relu(margin + similarity - matches.unsqueeze(1))
    columns = torch.relu(margin + similarity - matches.unsqueeze(0))
    losses = rows + columns
    return losses.mean() if negatives is None else losses.masked_fill(~_kept(negatives), 0).mean()


@full_precision
def sigmoid_contrastive(
    similarity: Float[Tensor, "batch batch"],
    scale: float | Float[Tensor, ""] = 10.0,
    bias: float | Float[Tensor, ""] = -10.0,
    negatives: Bool[Tensor, "batch batch"] | None = None,
) -> Float[Tensor, ""]:
    """SigLIP: every pair is a binary decision of its own.

    L = −(1/B) Σ_ij log σ(z_ij (t S_ij + b)), z = 1 on the diagonal and −1 elsewhere        (Zhai et al. 2023, Eq. 2)

    `scale` t and `bias` b may be learnable scalars; the defaults are their published initial values.
    """
    logits = scale * similarity + bias
    signs = 2 * torch.eye(len(logits), dtype=logits.dtype, device=logits.device) - 1
    losses = -logsigmoid(signs * logits)
    if negatives is not None:
        losses = losses.masked_fill(~_kept(negatives), 0)
    return losses.sum() / len(logits)


def _per_row(
    margin: float | Float[Tensor, " batch"], similarity: Float[Tensor, "batch batch"]
) -> Float[Tensor, " batch"]:
    """δ for every row. A plain number is rounded to float32, as in the published code, whatever the similarity is."""
    if isinstance(margin, Tensor):
        return margin.to(similarity).expand(len(similarity))
    return torch.tensor(margin, dtype=torch.float32).to(similarity).expand(len(similarity))


def _without(
    logits: Float[Tensor, "batch batch"], negatives: Bool[Tensor, "batch batch"] | None
) -> Float[Tensor, "batch batch"]:
    return logits if negatives is None else logits.masked_fill(~_kept(negatives), -torch.inf)


def _kept(negatives: Bool[Tensor, "batch batch"]) -> Bool[Tensor, "batch batch"]:
    """The entries that take part: the negatives and the diagonal."""
    return negatives | torch.eye(len(negatives), dtype=torch.bool, device=negatives.device)
