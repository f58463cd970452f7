"""Σ_k min(a_ik, b_jk) of all pairs of rows, by a loop that is compiled for this processor when it is first called."""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from inspect import unwrap
from itertools import repeat
from typing import Any

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

ROW_BLOCK = 1024
"""Rows of a block."""
_TILE = 8
"""Items that stay in the processor's first cache while all queries of a thread pass them: 16 KiB of 512 concepts."""
_LINES = 32
"""Rows that a thread does at once."""


def min_sum_blocks(
    a: Float[Tensor, "queries concepts"], b: Float[Tensor, "items concepts"]
) -> Iterator[tuple[slice, Float[Tensor, "rows items"]]]:
    """Blocks of rows of Σ_k min(a_ik, b_jk), in order; all are in the same memory, so each is gone with the next.

    Minima are added up in the processor's registers: neither a (queries, items, concepts) tensor nor a part of one is
    ever written. On the CPU, without gradients, with as many threads as torch. What a pair gets does not depend on its
    place in `a` and `b`. A NaN in `b` is passed on, one in `a` is not.
    """
    add_up, items = _kernel(), b.contiguous().numpy()
    block = a.new_empty(min(ROW_BLOCK, len(a)), len(b))
    with ThreadPoolExecutor(torch.get_num_threads()) as threads:
        for start in range(0, len(a), ROW_BLOCK):
            rows = slice(start, min(start + ROW_BLOCK, len(a)))
            sums = block[: rows.stop - start]
            list(threads.map(add_up, _lines(a[rows]), repeat(items), _lines(sums)))
            yield rows, sums


def _lines(rows: Float[Tensor, "rows _"]) -> Iterator["np.ndarray[Any, Any]"]:
    """So many rows at a time, in the tensor's own memory."""
    return (part.numpy() for part in rows.contiguous().split(_LINES))


@cache
def _kernel() -> Callable[..., Any]:
    """`_add_up` compiled: about a second for each data type, in every process that calls it."""
    import numba

    # Sums may be taken in any order, in several registers; nothing else of IEEE arithmetic is given up. What a runtime
    # type checker wraps around the function cannot be compiled.
    return numba.njit(nogil=True, fastmath={"reassoc", "nsz"})(unwrap(_add_up))


def _add_up(queries: Any, items: Any, sums: Any) -> None:
    """Fill sums (queries, items) from queries (queries, concepts) and items (items, concepts).

    Two queries meet two items at once, which halves what is read; an odd last one is its own neighbour, so that every
    pair is added up in the same order.
    """
    num_queries, num_items = sums.shape
    for first in range(0, num_items, _TILE):
        for i in range(0, num_queries, 2):
            below = min(i + 1, num_queries - 1)
            for j in range(first, min(first + _TILE, num_items), 2):
                right = min(j + 1, num_items - 1)
                zero = sums.dtype.type(0)
                total, total_right, total_below, total_both = zero, zero, zero, zero
                for k in range(queries.shape[1]):
                    query, query_below = queries[i, k], queries[below, k]
                    item, item_right = items[j, k], items[right, k]
                    total += query if query < item else item
                    total_right += query if query < item_right else item_right
                    total_below += query_below if query_below < item else item
                    total_both += query_below if query_below < item_right else item_right
                sums[i, j], sums[i, right] = total, total_right
                sums[below, j], sums[below, right] = total_below, total_both
