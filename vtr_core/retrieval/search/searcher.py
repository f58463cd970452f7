"""What every search of an index offers, whatever the kind of model."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Int64

from vtr_core.analysis.transforms import Transform
from vtr_core.retrieval.explain.values import HitExplanation
from vtr_core.retrieval.index.candidates import default_candidates
from vtr_core.retrieval.index.record import Backend
from vtr_core.retrieval.search.hit import Hit
from vtr_core.retrieval.search.search import Normalise, Space
from vtr_core.text.tokens.vocabulary import Vocabulary

NUM_TAGS = 5
"""Concepts that a hit lists."""


@dataclass(frozen=True)
class SearchOptions:
    """Options of a search; None is the default of model and index."""

    space: Space | None = None
    latent_weight: float | None = None
    normalise: Normalise = "query"
    transform: Transform | None = None
    candidates: int | None = None

    def num_candidates(self, backend: Backend) -> int:
        """How many candidates of an index of this kind are ranked."""
        return default_candidates(backend) if self.candidates is None else self.candidates


class Searcher(ABC):
    """An index with the model that embeds queries."""

    description: str
    """A description of the scoring."""
    vocabulary: Vocabulary
    """The words of the model: which ones of a query it does not know."""

    @abstractmethod
    def search(
        self, texts: Sequence[str], k: int, among: Int64[np.ndarray, " chosen"] | None = None
    ) -> list[tuple[Hit, ...] | None]:
        """The k best items for each query, best first; None for a query without a known word.

        among: ascending positions of the items that may be found (None: all); they are searched without a graph of
        candidates. Scores do not depend on it.
        """

    def why(self, text: str, position: int, num_tags: int) -> HitExplanation | None:  # noqa: ARG002
        """Why an item is found; None for a model without concepts and for a text without a known word."""
        return None
