"""Blocks of a similarity matrix: some rows against all columns, and the same columns against all rows.

A block is a slice of the n items. Its rows S[i, :] and its columns S[:, i]ᵀ are both (block, items), with the match of
the block's item k at [k, block.start + k]. Weights of the same shape say how much every entry counts.
"""

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from vtr_core.losses.products import Product


def both_blocks(
    a: Float[Tensor, "items dim"], b: Float[Tensor, "items dim"], block: slice, multiply: Product
) -> tuple[Float[Tensor, "block items"], Float[Tensor, "block items"]]:
    """S[i, :] and S[:, i]ᵀ of S = a bᵀ; a block of all items is multiplied once."""
    rows = multiply(a[block], b)
    return rows, rows.T if len(rows) == len(a) else multiply(b[block], a)


def is_match(block: Float[Tensor, "block items ..."], first: int) -> Bool[Tensor, "block items"]:
    """True at the match of every item of a block that starts with item `first`."""
    rows, items = block.shape[:2]
    own = torch.arange(first, first + rows, device=block.device)
    return own.unsqueeze(1) == torch.arange(items, device=block.device)


def log_weights(
    weights: Float[Tensor, "block items"], first: int, at_match: float | Float[Tensor, "block 1"] = 0.0
) -> Float[Tensor, "block items"]:
    """log w of the negatives, −∞ where their weight is 0, and `at_match` (default log 1) at the matches."""
    return torch.where(is_match(weights, first), at_match, weights.log())


def whole_weights(
    negatives: Bool[Tensor, "batch batch"] | None, similarity: Float[Tensor, "batch ..."]
) -> Float[Tensor, "batch batch"]:
    """Weight 1 for the negatives and the diagonal, 0 for the rest; 1 throughout without a mask."""
    size = len(similarity)
    if negatives is None:
        return similarity.new_ones((size, size))
    return (negatives | torch.eye(size, dtype=torch.bool, device=negatives.device)).to(similarity.dtype)
