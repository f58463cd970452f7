"""Σ_k min(a_ik, b_jk) of all pairs of rows: by a loop that numba compiles for this processor, or from L1 distances."""

import logging
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from importlib.util import find_spec
from inspect import unwrap
from itertools import repeat
from typing import Any

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from vtr_core.errors import how_to_install

logger = logging.getLogger(__name__)
ROW_BLOCK = 1024
"""Rows of a block."""
_TILE = 8
"""Items that stay in the L1 cache while they are compared with all queries of a thread: 16 KiB for 512 concepts."""
_LINES = 32
"""Queries per call of the compiled loop, which is one task of a thread."""
_MANY = 10**10
"""Number of minima, several seconds of work, from which on a warning says that numba is missing."""


def min_sum_blocks(
    a: Float[Tensor, "queries concepts"], b: Float[Tensor, "items concepts"]
) -> Iterator[tuple[slice, Float[Tensor, "rows items"]]]:
    """Blocks of rows of Σ_k min(a_ik, b_jk), in order; they share one buffer, so each is overwritten by the next.

    On the CPU, without gradients. With the extra `numba`, minima are added up in the processor's registers, with as
    many threads as torch: neither a (queries, items, concepts) tensor nor a part of one is ever written. Without it,
    Σmin = (Σa + Σb − ‖a − b‖₁) / 2, in ten times the time. The result of a pair does not depend on its position in `a`
    and `b`. A NaN in `b` propagates to the result, one in `a` not always.
    """
    compiled = find_spec("numba") is not None
    if not compiled and len(a) * len(b) * a.shape[1] >= _MANY:
        _say_numba_is_missing()
    fill = _compiled if compiled else _from_distances
    items = b.contiguous()
    block = a.new_empty(min(ROW_BLOCK, len(a)), len(b))
    for start in range(0, len(a), ROW_BLOCK):
        rows = slice(start, min(start + ROW_BLOCK, len(a)))
        sums = block[: rows.stop - start]
        fill(a[rows], items, sums)
        yield rows, sums


@cache
def _say_numba_is_missing() -> None:
    logger.warning(
        "numba is not installed: the generalised Jaccard of so many pairs takes ten times as long as it could; %s",
        how_to_install("numba"),
    )


def _from_distances(queries: Tensor, items: Tensor, sums: Tensor) -> None:
    torch.add(queries.sum(dim=1, keepdim=True), items.sum(dim=1), out=sums)
    sums.sub_(torch.cdist(queries, items, p=1.0)).clamp_(min=0).div_(2)


def _compiled(queries: Tensor, items: Tensor, sums: Tensor) -> None:
    with ThreadPoolExecutor(torch.get_num_threads()) as threads:
        list(threads.map(_kernel(), _lines(queries), repeat(items.numpy()), _lines(sums)))


def _lines(rows: Float[Tensor, "rows _"]) -> Iterator["np.ndarray[Any, Any]"]:
    """The rows, `_LINES` at a time, as views of the tensor's memory."""
    return (part.numpy() for part in rows.contiguous().split(_LINES))


@cache
def _kernel() -> Callable[..., Any]:
    """`_add_up` compiled: about a second for each data type, in every process that calls it."""
    import numba

    # Sums may be taken in any order, in several registers; nothing else of IEEE arithmetic is given up. The wrapper of
    # a runtime type checker around the function could not be compiled.
    return numba.njit(nogil=True, fastmath={"reassoc", "nsz"})(unwrap(_add_up))


def _add_up(queries: Any, items: Any, sums: Any) -> None:
    """Fill sums (queries, items) from queries (queries, concepts) and items (items, concepts).

    Two queries are compared with two items at once, which halves the reads from memory. An odd last one is paired with
    itself, so that the sum of every pair is taken in the same order.
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
