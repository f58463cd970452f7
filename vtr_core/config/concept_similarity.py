"""How concepts are compared."""

from typing import Literal

ConceptSimilarity = Literal["jaccard", "cosine"]
"""Of a concept space that was trained."""
Comparison = Literal["jaccard", "cosine", "dot"]
"""Also of a pretrained encoder, whose similarity is Σ_i z_i q_i over the concepts that it names."""
