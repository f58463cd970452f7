"""Average precision over the full ranking, from the ranks of all relevant items."""

import numpy as np
from jaxtyping import Float, Int

from vtr_core.metrics.relevance import Relevance
from vtr_core.metrics.standing import Standing
from vtr_core.metrics.ties import TiePolicy


def average_precision(found: Standing, relevance: Relevance, ties: TiePolicy) -> Float[np.ndarray, " queries"]:
    """AP_q = mean over the relevant items of q of the precision at their rank; 0 for a query without any.

    expected: the mean of AP over random orders of items with equal scores, see `expected_precision`.
    optimistic, pessimistic: the relevant ones come first or last among items with equal scores.
    """
    rows = np.repeat(np.arange(relevance.num_queries), relevance.counts)
    sums = np.bincount(rows, weights=_precision(found, relevance, ties), minlength=relevance.num_queries)
    return sums / np.maximum(relevance.counts, 1)


def expected_precision(
    higher: Int[np.ndarray, " pairs"],
    equal: Int[np.ndarray, " pairs"],
    relevant_higher: Int[np.ndarray, " pairs"],
    relevant_equal: Int[np.ndarray, " pairs"],
    num_items: int,
) -> Float[np.ndarray, " pairs"]:
    """The expected precision at the rank of one of r relevant among n tied items, all orders being equally likely.

    E = 1/n Σ_{i=1…n} (R + 1 + (i − 1)(r − 1)/(n − 1)) / (N + i), N items and R relevant ones scoring higher
      = 1/n [(R + 1) h + (r − 1)/(n − 1) (n − (N + 1) h)],  h = Σ_{i=1…n} 1/(N + i)

    Source: McSherry and Najork 2008, "Computing information retrieval performance measures efficiently in the presence
    of tied scores". Without a tie (n = 1) exactly (R + 1)/(N + 1).
    """
    harmonic = np.concatenate([[0.0], np.cumsum(1.0 / np.arange(1, num_items + 1))])
    h = harmonic[higher + equal] - harmonic[higher]
    others = (relevant_equal - 1) / np.maximum(equal - 1, 1)
    tied = ((relevant_higher + 1) * h + others * (equal - (higher + 1) * h)) / equal
    return np.where(equal == 1, (relevant_higher + 1) / (higher + 1), tied)


def _precision(found: Standing, relevance: Relevance, ties: TiePolicy) -> Float[np.ndarray, " pairs"]:
    """The precision at the rank of every relevant item."""
    if ties == "expected":
        return expected_precision(
            found.higher, found.equal, found.relevant_higher, found.relevant_equal, relevance.num_items
        )
    starts = np.repeat(relevance.offsets[:-1], relevance.counts)
    relevant_so_far = np.arange(len(found.higher)) - starts + 1
    others_first = found.equal - found.relevant_equal if ties == "pessimistic" else 0
    return relevant_so_far / (found.higher - found.relevant_higher + relevant_so_far + others_first)
