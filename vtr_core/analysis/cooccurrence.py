"""Co-occurrence of concepts in the captions of the same videos, and its correlation (thesis, section 5.6.1)."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float64, Int64


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


def strongest_pairs(found: Cooccurrence, most: int, fewest_videos: int) -> list[ConceptPair]:
    """At most `most` pairs with the highest correlation, of those that co-occur in at least `fewest_videos` videos.

    Concepts are numbered by descending frequency; of equal correlations the pair with the lower numbers comes first.
    """
    first, second = np.triu_indices(len(found.together), 1)
    values = found.correlation[first, second]
    kept = np.flatnonzero(np.isfinite(values) & (found.together[first, second] >= fewest_videos))
    order = kept[np.argsort(-values[kept], kind="stable")][:most]
    return [_pair(found, int(first[i]), int(second[i])) for i in order]


def _pair(found: Cooccurrence, first: int, second: int) -> ConceptPair:
    together = int(found.together[first, second])
    shares = (together / int(found.together[one, one]) for one in (first, second))
    return ConceptPair(first, second, together, float(found.correlation[first, second]), *shares)
