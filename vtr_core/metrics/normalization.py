"""Hubness correction of a similarity matrix: dual softmax and query-bank normalisation.

Both use more than the query being answered, so they are reported beside the plain metrics, never instead of them.
Exponentials of similarities can overflow or underflow, so everything is computed from logarithms.
"""

import numpy as np
from jaxtyping import Bool, Float, Int64, Real

from vtr_core.metrics.ranks import ScoreChunk, slices

QUERY_CHUNK, ITEM_CHUNK = 512, 16384

Scores = Real[np.ndarray, "queries items"]
Normalized = Float[np.ndarray, "queries items"]


def log_sums(
    score_chunk: ScoreChunk,
    num_queries: int,
    num_items: int,
    temperature: float,
    counted: Bool[np.ndarray, " queries"] | None = None,
) -> Float[np.ndarray, " items"]:
    """L_j = log Σ_i exp(S_ij / τ) over the queries i, or over the `counted` ones; −∞ where there are none.

    Holds one block of scores at a time.
    """
    total = np.full(num_items, -np.inf)
    for queries in slices(num_queries, QUERY_CHUNK):
        rows = slice(None) if counted is None else counted[queries]
        for items in slices(num_items, ITEM_CHUNK):
            block = score_chunk(queries, items)[rows] / np.float64(temperature)
            total[items] = np.logaddexp(total[items], np.logaddexp.reduce(block, axis=0, initial=-np.inf))
    return total


def best_items(score_chunk: ScoreChunk, num_queries: int, num_items: int) -> Int64[np.ndarray, " queries"]:
    """The item that scores highest for each query, the first one on a tie."""
    best = np.zeros(num_queries, np.int64)
    score = np.full(num_queries, -np.inf)
    for queries in slices(num_queries, QUERY_CHUNK):
        for items in slices(num_items, ITEM_CHUNK):
            block = score_chunk(queries, items)
            highest = block.max(axis=1)
            better = highest > score[queries]
            best[queries] = np.where(better, block.argmax(axis=1) + items.start, best[queries])
            score[queries] = np.where(better, highest, score[queries])
    return best


def dual_softmax(
    scores: Scores, sums: Float[np.ndarray, " items"], temperature: float, never_positive: bool = False
) -> Normalized:
    """Scores that order the items of a query like S′_ij = S_ij · P_ij, P_ij = exp(S_ij/τ) / Σ_q exp(S_qj/τ).

    P is the softmax over *all* test queries q; `sums` are the logarithms of its denominators. Source: Cheng et al. 2021
    (CAMoE), the dual softmax at test time. Where a similarity is minus a distance, S is negative and its product with P
    would put hubs first; there S is replaced by exp(S_ij).

    The value is sign(S) g(log |S P|) with the increasing g(x) = 1 + x for x ≥ 0, 1 / (1 − x) below, and 0 for S = 0: it
    keeps the order of S P even where P is too small for a float.
    """
    values = scores.astype(np.float64)
    log_share = values / temperature - sums
    if never_positive:
        return values + log_share
    with np.errstate(divide="ignore"):
        x = np.log(np.abs(values)) + log_share
    size = np.where(x >= 0, 1 + x, 1 / (1 - np.minimum(x, 0)))
    return np.sign(values) * size


def query_bank(
    scores: Scores,
    sums: Float[np.ndarray, " items"],
    temperature: float,
    active: Bool[np.ndarray, " queries"],
) -> Normalized:
    """QB-Norm with the dynamic inverted softmax: for `active` queries scores that order the items like
    exp(S_ij/τ) / Σ_b exp(S_bj/τ), for the others S itself.

    b runs over the captions of the query bank, and `sums` are the logarithms of the denominators. A query is active
    where its top-1 item is also the top-1 item of at least one caption of the bank (an activation set of the top 1).
    Source: Bogolin et al. 2022, with β = 1/τ. The value is S/τ − log Σ_b exp(S_bj/τ), which has the same order.
    """
    values = scores.astype(np.float64)
    return np.where(active[:, None], values / temperature - sums, values)
