"""Weights of the negatives: how much each pair of different rows of a batch counts in a contrastive loss."""

from typing import assert_never

import torch
from jaxtyping import Bool, Float, Int64
from torch import Tensor

from vtr_core.config.losses.same_video import KeepSameVideo, MaskSameVideo, SameVideo, WeightSameVideo
from vtr_core.data.batches.rows import RowKeys


def negative_weights(
    keys: RowKeys, block: slice, same_video: SameVideo, dtype: torch.dtype
) -> Float[Tensor, "block batch"]:
    """The weight w[i, j] of the entry that compares the block's row i with row j, the same for rows and for columns.

    Rows that show the same clip or have the same caption text are no negatives of each other: w = 0, but 1 at [i, i].
    Other clips of the same video have, by `same_video`: keep w = 1 (as in the paper), mask w = 0, weight the w of
    `hard_rate_weights`.
    """
    own = torch.arange(len(keys.clip), device=keys.clip.device)
    is_self = _equal(own, block)
    counts = ~same_caption(keys, block) | is_self
    is_same_video = _equal(keys.video, block)
    match same_video:
        case KeepSameVideo():
            return counts.to(dtype)
        case MaskSameVideo():
            return (counts & (~is_same_video | is_self)).to(dtype)
        case WeightSameVideo():
            return hard_rate_weights(counts, is_same_video | is_self, same_video.hard_rate, dtype)
        case _:
            assert_never(same_video)


def same_caption(keys: RowKeys, block: slice) -> Bool[Tensor, "block batch"]:
    """The rows that show the same clip as the block's row i or have its caption text, itself among them."""
    return _equal(keys.clip, block) | _equal(keys.caption, block)


def hard_rate_weights(
    counts: Bool[Tensor, "block batch"],
    is_same_video: Bool[Tensor, "block batch"],
    hard_rate: float,
    dtype: torch.dtype,
) -> Float[Tensor, "block batch"]:
    """h·N/n_same for the entries of the same video, (1 − h)·N/n_other for the others; the mean weight of a row is 1.

    N = n_same + n_other is the number of a row's entries that count, of the same video (n_same ≥ 1, as its own entry is
    one) and of others; entries that do not count weigh 0. With V videos of P clips each the weights are h·V and
    (1 − h)·V/(V − 1), those of the published code of Miech et al. 2019. In a row without clips of other videos all
    entries that count weigh 1.
    """
    same, other = counts & is_same_video, counts & ~is_same_video
    n_same, n_other = same.sum(dim=1, keepdim=True).to(dtype), other.sum(dim=1, keepdim=True).to(dtype)
    total = n_same + n_other
    hard = torch.where(n_other > 0, hard_rate * total / n_same, 1.0)
    easy = (1 - hard_rate) * total / n_other.clamp(min=1)
    return hard * same + easy * other


def _equal(key: Int64[Tensor, " batch"], block: slice) -> Bool[Tensor, "block batch"]:
    return key[block].unsqueeze(1) == key
