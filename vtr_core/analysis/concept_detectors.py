"""Concept detectors: precision, which were learned (thesis, 5.6.2), and co-occurrence (5.6.1)."""

from dataclasses import dataclass
from typing import Literal

import numpy as np
from jaxtyping import Bool, Float, Float64, Int64

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

    @property
    def chance(self) -> float:
        """The chance level of mean average precision: about the mean prevalence of the same concepts."""
        defined = np.isfinite(self.precision)
        return float(self.prevalence[defined].mean()) if defined.any() else float("nan")


def tag_precision(
    scores: Float[np.ndarray, "samples concepts"], present: Bool[np.ndarray, "samples concepts"]
) -> TagPrecision:
    """Average precision of each concept as a query over all samples; equal scores count by their expected value."""
    _check(scores)
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


def _check(values: np.ndarray) -> None:
    if not values.size:
        raise DatasetError(
            f"concept scores of the shape {values.shape}: there are no samples to judge the detectors by"
        )


@dataclass(frozen=True)
class Cooccurrence:
    """`together[i, j]`: videos with both concepts, on the diagonal with the one; `correlation`: of their presence."""

    together: Int64[np.ndarray, "concepts concepts"]
    correlation: Float64[np.ndarray, "concepts concepts"]
    videos: int


@dataclass(frozen=True)
class ConceptPair:
    """Two concepts by their numbers, the first the more frequent one; shares and correlation in [0, 1] and [-1, 1]."""

    first: int
    second: int
    together: int
    correlation: float
    share_of_first: float
    """Share of the videos with the first concept that have the second one too."""
    share_of_second: float


def cooccurrence(present: Bool[np.ndarray, "videos concepts"]) -> Cooccurrence:
    """The correlation of the presence of every two concepts over the videos (φ, Pearson's of two binary variables).

    φ_ij = (n n_ij − n_i n_j) / √(n_i (n − n_i) n_j (n − n_j)); NaN for a concept of no video, or of all videos.
    """
    here = present.astype(np.float64)
    together, videos = here.T @ here, len(present)
    counts = np.diag(together)
    spread = np.sqrt(counts * (videos - counts))
    with np.errstate(divide="ignore", invalid="ignore"):
        correlation = (videos * together - np.outer(counts, counts)) / np.outer(spread, spread)
    return Cooccurrence(together.astype(np.int64), np.where(np.isfinite(correlation), correlation, np.nan), videos)


def strongest_pairs(counts: Cooccurrence, most: int, fewest_videos: int) -> list[ConceptPair]:
    """At most `most` pairs with the highest correlation, of those that co-occur in at least `fewest_videos` videos.

    Concepts are numbered by descending frequency; of equal correlations the pair with the lower numbers comes first.
    """
    first, second = np.triu_indices(len(counts.together), 1)
    values = counts.correlation[first, second]
    usable = np.flatnonzero(np.isfinite(values) & (counts.together[first, second] >= fewest_videos))
    order = usable[np.argsort(-values[usable], kind="stable")][:most]
    return [_pair(counts, int(first[i]), int(second[i])) for i in order]


def _pair(counts: Cooccurrence, first: int, second: int) -> ConceptPair:
    together = int(counts.together[first, second])
    shares = (together / int(counts.together[concept, concept]) for concept in (first, second))
    return ConceptPair(first, second, together, float(counts.correlation[first, second]), *shares)
