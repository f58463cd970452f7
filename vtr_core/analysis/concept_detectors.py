"""Concept detectors: precision, and which were learned (thesis, 5.6.2)."""

from dataclasses import dataclass
from typing import Literal

import numpy as np
from jaxtyping import Bool, Float, Float64

from vtr_core.errors import DatasetError
from vtr_core.metrics.average_precision import average_precision
from vtr_core.metrics.ranks import from_matrix, standing

LEARNED_LIFT = 2.0
"""A concept counts as learned where its average precision is at least this many times chance."""
Fate = Literal["learned", "not generalised", "failed", "too rare"]
_QUERY_CHUNK, _ITEM_CHUNK = 64, 65536


@dataclass(frozen=True)
class TagPrecision:
    """Per concept: average precision of ranking the samples by its score, and its prevalence (share of samples).

    NaN where no sample has the concept.
    """

    precision: Float64[np.ndarray, " concepts"]
    prevalence: Float64[np.ndarray, " concepts"]

    @property
    def mean(self) -> float:
        """Mean average precision over the concepts that some sample has (Table 5.4)."""
        defined = np.isfinite(self.precision)
        return float(self.precision[defined].mean()) if defined.any() else float("nan")


def tag_precision(
    scores: Float[np.ndarray, "samples concepts"], present: Bool[np.ndarray, "samples concepts"]
) -> TagPrecision:
    """Average precision of each concept as a query over all samples; equal scores count by their expected value."""
    if not scores.size:
        raise DatasetError(f"concept scores of the shape {scores.shape}: no samples to judge the detectors by")
    relevance = from_matrix(present.T)
    by_concept = np.ascontiguousarray(scores.T)
    ranks = standing(lambda queries, items: by_concept[queries, items], relevance, _QUERY_CHUNK, _ITEM_CHUNK)
    precision = average_precision(ranks, relevance, "expected")
    counts = present.sum(axis=0)
    return TagPrecision(np.where(counts > 0, precision, np.nan), counts / len(present))


def fates(train: TagPrecision, other: TagPrecision, fewest: int, train_samples: int) -> list[Fate]:
    """The outcome of each concept's detector, as in the thesis's Figure 5.10.

    A detector is learned on a split where its average precision is at least `LEARNED_LIFT` times prevalence or, for
    frequent concepts, half-way from prevalence to 1, whichever is less. failed: not learned even on the training data.
    not generalised: learned on the training data but not on the other split. too rare: fewer than `fewest` training
    samples, or none on the other split.
    """
    outcomes: list[Fate] = []
    for concept in range(len(train.precision)):
        if train.prevalence[concept] * train_samples < fewest or not np.isfinite(other.precision[concept]):
            outcomes.append("too rare")
        elif not _learned(train, concept):
            outcomes.append("failed")
        else:
            outcomes.append("learned" if _learned(other, concept) else "not generalised")
    return outcomes


def _learned(tags: TagPrecision, concept: int) -> bool:
    chance = float(tags.prevalence[concept])
    return bool(tags.precision[concept] >= min(LEARNED_LIFT * chance, (1 + chance) / 2))
