"""Packing of padded sequences: valid tokens first."""

from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float, Int64
from torch import Tensor


@dataclass(frozen=True)
class Packed:
    """Every row's valid tokens in their original order, then zeros."""

    tokens: Float[Tensor, "batch tokens dim"]
    mask: Bool[Tensor, "batch tokens"]
    """True for the tokens."""
    order: Int64[Tensor, "batch tokens"]
    """The original position of each token."""


def pack(tokens: Float[Tensor, "batch tokens dim"], mask: Bool[Tensor, "batch tokens"]) -> Packed:
    """Move each row's valid tokens to the front, so that a convolution sees neither padding nor gaps between them."""
    order = torch.argsort((~mask).to(torch.uint8), dim=1, stable=True)
    first = torch.arange(mask.shape[1], device=mask.device) < mask.sum(dim=1, keepdim=True)
    return Packed(torch.where(first.unsqueeze(2), _take(tokens, order), 0), first, order)


def unpack(values: Float[Tensor, "batch tokens dim"], packed: Packed) -> Float[Tensor, "batch tokens dim"]:
    """`values` of the packed tokens, moved back to the tokens' original positions."""
    return _take(values, torch.argsort(packed.order, dim=1))


def _take(values: Tensor, order: Tensor) -> Float[Tensor, "batch tokens dim"]:
    return values.gather(1, order.unsqueeze(2).expand(-1, -1, values.shape[2]))
