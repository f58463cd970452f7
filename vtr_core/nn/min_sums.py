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
_TILE = 64
"""Items that stay in the processor's cache while all queries of a thread pass them: 128 KiB of 512 concepts."""
_LINES = 32
"""Rows that a thread does at once."""


def min_sum_blocks(
    a: Float[Tensor, "queries concepts"], b: Float[Tensor, "items concepts"]
) -> Iterator[tuple[slice, Float[Tensor, "rows items"]]]:
    """Blocks of rows of Σ_k min(a_ik, b_jk), in order; each is a tensor of its own.

    Minima are added up in the processor's registers: neither a (queries, items, concepts) tensor nor a part of one is
    ever written. On the CPU, without gradients, with as many threads as torch. What a pair gets does not depend on its
    place in `a` and `b`. A NaN in `b` is passed on, one in `a` is not.
    """
    add_up, items = _kernel(), b.contiguous().numpy()
    with ThreadPoolExecutor(torch.get_num_threads()) as threads:
        for start in range(0, len(a), ROW_BLOCK):
            rows = slice(start, min(start + ROW_BLOCK, len(a)))
            sums = a.new_empty(rows.stop - start, len(b))
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
    """Fill sums (queries, items) from queries (queries, concepts) and items (items, concepts)."""
    num_items, num_concepts = items.shape
    for first in range(0, num_items, _TILE):
        for i in range(len(queries)):
            for j in range(first, min(first + _TILE, num_items)):
                total = sums.dtype.type(0)
                for k in range(num_concepts):
                    total += queries[i, k] if queries[i, k] < items[j, k] else items[j, k]
                sums[i, j] = total
