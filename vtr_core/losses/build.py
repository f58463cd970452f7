"""The loss of two modalities that a configuration names."""

from collections.abc import Callable
from functools import partial
from typing import assert_never

from jaxtyping import Float
from torch import Tensor
from torch.nn.functional import normalize

from vtr_core.config.loss import InfoNceConfig, LossConfig, MaskedMarginSoftmaxConfig
from vtr_core.data.batch import RowKeys
from vtr_core.losses.contrastive import info_nce, masked_margin_softmax
from vtr_core.losses.margins import margin_at
from vtr_core.losses.negatives import negatives_mask
from vtr_core.nn.precision import full_precision

PairLoss = Callable[[Tensor, Tensor, RowKeys, int], Tensor]
"""(a (batch, dim), b (batch, dim), keys, step) → a scalar; row i of `a` matches row i of `b`."""


def build_loss(config: LossConfig) -> PairLoss:
    """The loss between the embeddings of two modalities, symmetric in them."""
    match config:
        case MaskedMarginSoftmaxConfig():
            return partial(_masked_margin_softmax, config)
        case InfoNceConfig():
            return partial(_info_nce, config)
        case _:
            assert_never(config)


@full_precision
def _masked_margin_softmax(
    config: MaskedMarginSoftmaxConfig,
    a: Float[Tensor, "batch dim"],
    b: Float[Tensor, "batch dim"],
    keys: RowKeys,
    step: int,
) -> Float[Tensor, ""]:
    """MMS of the plain dot products a bᵀ, with the margin of the step."""
    similarity = a @ b.T
    negatives = negatives_mask(keys.clip, keys.caption, keys.video, config.same_video)
    return masked_margin_softmax(similarity, margin_at(config.margin, step, similarity), negatives)


@full_precision
def _info_nce(
    config: InfoNceConfig,
    a: Float[Tensor, "batch dim"],
    b: Float[Tensor, "batch dim"],
    keys: RowKeys,
    step: int,  # noqa: ARG001  every loss of two modalities is called alike
) -> Float[Tensor, ""]:
    """InfoNCE of the cosines of a and b; L2-normalises them itself."""
    negatives = negatives_mask(keys.clip, keys.caption, keys.video, config.same_video)
    return info_nce(normalize(a, dim=1) @ normalize(b, dim=1).T, config.temperature, negatives)
