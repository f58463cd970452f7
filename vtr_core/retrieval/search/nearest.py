"""The best items for several queries, found block by block: no matrix of all scores is held."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float32, Int64

from vtr_core.retrieval.search.joint import JointItems
from vtr_core.retrieval.search.search import best
from vtr_core.similarity import SimilarityKind

BLOCK = 8192
"""Items whose scores are held at once: with 64 queries 2 MB."""


@dataclass(frozen=True)
class Nearest:
    """The best items for one query, best first, ties by position; NaN is below everything."""

    scores: Float32[np.ndarray, " found"]
    positions: Int64[np.ndarray, " found"]

    def shifted(self, first: int) -> "Nearest":
        """The same items, counted from `first`."""
        return Nearest(self.scores, self.positions + first)


def best_of(parts: Sequence[Nearest], k: int) -> Nearest:
    """The k best of all parts, which are in the order of their positions."""
    scores = np.concatenate([part.scores for part in parts])
    kept = best(scores, k)
    return Nearest(scores[kept], np.concatenate([part.positions for part in parts])[kept])


def nearest(
    items: JointItems,
    queries: Float32[np.ndarray, "queries dim"],
    similarity: SimilarityKind,
    k: int,
    among: Int64[np.ndarray, " chosen"] | None = None,
) -> list[Nearest]:
    """The k best items for each query, of the ascending positions `among` (None: of all).

    Every block of vectors is read once, for all queries; of its scores only those above a query's k-th best so far are
    looked at again.
    """
    nothing = Nearest(np.zeros(0, np.float32), np.zeros(0, np.int64))
    found = [nothing] * len(queries)
    lowest = np.full((len(queries), 1), np.nan, np.float32)  # nothing is at most NaN: until k are found all are better
    for first, chosen in _blocks(items.num_items, among):
        scores = items.scores(queries, similarity, chosen)
        better = ~(scores <= lowest)
        for query in np.flatnonzero(better.any(axis=1)):
            places = np.flatnonzero(better[query])
            positions = first + places if isinstance(chosen, slice) else chosen[places]
            found[query] = best_of([found[query], Nearest(scores[query][places], positions)], k)
            if len(found[query].scores) == k:
                lowest[query] = found[query].scores[-1]
    return found


def _blocks(
    num_items: int, among: Int64[np.ndarray, " chosen"] | None
) -> Iterator[tuple[int, slice | Int64[np.ndarray, " block"]]]:
    count = num_items if among is None else len(among)
    for first in range(0, count, BLOCK):
        yield first, slice(first, min(first + BLOCK, count)) if among is None else among[first : first + BLOCK]
