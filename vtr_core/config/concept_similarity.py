"""How concepts are compared."""

from typing import Literal

ConceptSimilarity = Literal["jaccard", "cosine"]
