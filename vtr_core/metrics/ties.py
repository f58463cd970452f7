"""Tie policies: the rank of a relevant item among items of exactly the same score."""

from typing import Literal

import numpy as np
from jaxtyping import Float, Int

TiePolicy = Literal["expected", "optimistic", "pessimistic"]
"""expected: the mean over random orders of the tied items; optimistic: relevant items first; pessimistic: last."""

Counts = Int[np.ndarray, " queries"]
Values = Float[np.ndarray, " queries"]


def recall_at(k: int, better: Counts, tied: Counts, ties: TiePolicy) -> Values:
    """Recall at k of each query: whether its best relevant item is in the top k, expected over ties; in [0, 1].

    better: items scored strictly higher than the best-scored relevant item; tied: other items with exactly its score.
    expected: clip((k − better) / (tied + 1), 0, 1).   optimistic: better < k.   pessimistic: better + tied < k.
    """
    match ties:
        case "expected":
            return np.clip((k - better) / (tied + 1), 0.0, 1.0)
        case "optimistic":
            return (better < k).astype(np.float64)
        case "pessimistic":
            return (better + tied < k).astype(np.float64)


def rank(better: Counts, tied: Counts, ties: TiePolicy) -> Values:
    """The 1-based rank of the best relevant item.

    expected: better + 1 + tied / 2.   optimistic: better + 1.   pessimistic: better + tied + 1.
    """
    match ties:
        case "expected":
            return better + 1 + tied / 2
        case "optimistic":
            return better + 1.0
        case "pessimistic":
            return better + tied + 1.0
