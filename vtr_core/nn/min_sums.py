"""Σ_k min(a_ik, b_jk) of all pairs of rows, from blocks that stay in a processor's cache."""

from collections.abc import Iterator

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn.functional import pad

ROWS, CONCEPTS, PAIRS = 8, 32, 4096
"""For each thread: rows of a tile, concepts that are added up at once, and pairs of a tile (512 KiB of float32)."""
ROW_BLOCK = 1024
"""Rows that are transposed at once."""
_LANES = 64
"""The items of a tile are a multiple of this: torch.sum adds up the columns beyond its vectors in another order."""


def min_sum_blocks(
    a: Float[Tensor, "queries concepts"], b: Float[Tensor, "items concepts"]
) -> Iterator[tuple[slice, Float[Tensor, "rows items"]]]:
    """Blocks of rows of Σ_k min(a_ik, b_jk), in order; each is a tensor of its own.

    A (queries, items, concepts) tensor would be written to memory and read again; tiles of a few queries, some hundred
    items and `CONCEPTS` concepts are not. On the CPU, without gradients. Sums of `CONCEPTS` are added up, so that
    rounding stays near that of a pairwise sum. What a pair gets does not depend on its place in `a` and `b`.
    """
    threads = torch.get_num_threads()
    height = max(1, min(ROWS * threads, len(a)))
    width = max(1, PAIRS * threads // height // _LANES) * _LANES
    items = _columns(pad(b, (0, 0, 0, -len(b) % _LANES)), width)
    for start in range(0, len(a), ROW_BLOCK):
        rows = slice(start, min(start + ROW_BLOCK, len(a)))
        yield rows, _block(a[rows], items, height)[:, : len(b)]


def _columns(rows: Float[Tensor, "rows concepts"], width: int) -> list[Float[Tensor, "concepts _"]]:
    """The rows as columns, so many at a time, each part contiguous."""
    return [part.T.contiguous() for part in rows.split(width)]


def _block(
    rows: Float[Tensor, "rows concepts"], items: list[Float[Tensor, "concepts _"]], height: int
) -> Float[Tensor, "rows items"]:
    widths = [part.shape[1] for part in items]
    sums = rows.new_empty(len(rows), sum(widths))
    for queries, lines in zip(_columns(rows, height), sums.split(height), strict=True):
        for part, tile in zip(items, lines.split(widths, dim=1), strict=True):
            tile.copy_(_tile(queries.unsqueeze(2), part.unsqueeze(1)))
    return sums


def _tile(
    queries: Float[Tensor, "concepts rows 1"], items: Float[Tensor, "concepts 1 part"]
) -> Float[Tensor, "rows part"]:
    """Σ min over all concepts, chunk by chunk; the buffers are reused."""
    shape = queries.shape[1], items.shape[2]
    smaller, total, part = queries.new_empty(CONCEPTS, *shape), queries.new_zeros(shape), queries.new_empty(shape)
    for query, item in zip(queries.split(CONCEPTS), items.split(CONCEPTS), strict=True):
        chunk = smaller[: len(query)]
        torch.minimum(query, item, out=chunk)
        torch.sum(chunk, 0, out=part)
        total.add_(part)
    return total
