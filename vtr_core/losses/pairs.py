"""The loss of a batch with several modalities: the sum over the pairs of modalities."""

from dataclasses import dataclass
from itertools import combinations

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from vtr_core.config.loss import LossConfig
from vtr_core.data.batch import RowKeys
from vtr_core.losses.build import PairLoss, build_loss
from vtr_core.nn.embeddings import TEXT, Embeddings

FIRST = (TEXT, "video", "audio")
"""The order of modalities in the name of a pair; further ones follow by name."""


@dataclass(frozen=True)
class PairLosses:
    """The sum that is trained, and its terms by pair: "text_video", "text_audio", "video_audio"."""

    total: Float[Tensor, ""]
    by_pair: dict[str, Float[Tensor, ""]]


def modality_pair_losses(embeddings: Embeddings, keys: RowKeys, config: LossConfig, step: int) -> PairLosses:
    """L = Σ over the pairs of modalities of their loss: L_va + L_ta + L_vt with three of them (Duarte et al., Eq. 4).

    A pair's loss is over the rows where both modalities are present: a missing modality is neither a positive nor a
    negative. With fewer than two such rows there is nothing to contrast: the pair contributes exactly 0, with zero
    gradients, and stays part of the graph. The values of missing modalities, NaN too, reach neither loss nor gradient.
    """
    loss = build_loss(config)
    names = sorted(embeddings.vectors, key=_order)
    by_pair = {f"{a}_{b}": _pair(loss, embeddings, keys, (a, b), step) for a, b in combinations(names, 2)}
    return PairLosses(total=torch.stack(list(by_pair.values())).sum(), by_pair=by_pair)


def _pair(loss: PairLoss, embeddings: Embeddings, keys: RowKeys, pair: tuple[str, str], step: int) -> Float[Tensor, ""]:
    both: Bool[Tensor, " batch"] = embeddings.present[pair[0]] & embeddings.present[pair[1]]
    a, b = (embeddings.vectors[name][both] for name in pair)
    if len(a) < 2:
        return a[:0].sum() + b[:0].sum()
    return loss(a, b, keys[both], step)


def _order(modality: str) -> tuple[int, str]:
    return (FIRST.index(modality), "") if modality in FIRST else (len(FIRST), modality)
