"""Scores of clips in one joint space under the similarity of training."""

from dataclasses import dataclass
from functools import cached_property, partial

import numpy as np
import torch
from jaxtyping import Bool, Float32, Int64
from torch import Tensor

from vtr_core.retrieval.evaluate.entries import Entries
from vtr_core.retrieval.evaluate.scoring import block_scores, mean_scores
from vtr_core.similarity import SimilarityKind, cosine_to, dot_to, lengths


@dataclass(frozen=True)
class JointItems:
    """The searched clips: vectors by modality, and whether a clip has it."""

    vectors: dict[str, Float32[np.ndarray, "clips dim"]]
    present: dict[str, Bool[np.ndarray, " clips"]]

    @property
    def num_items(self) -> int:
        """The number of clips."""
        return len(next(iter(self.vectors.values())))

    @cached_property
    def lengths(self) -> dict[str, Float32[Tensor, " clips"]]:
        """The vectors' lengths, computed by the first search of all: to normalise all for each would copy them."""
        return {name: lengths(torch.from_numpy(vectors)) for name, vectors in self.vectors.items()}

    def scores(
        self,
        queries: Float32[np.ndarray, "queries dim"],
        similarity: SimilarityKind,
        chosen: slice | Int64[np.ndarray, " chosen"] = slice(None),
    ) -> Float32[np.ndarray, "queries clips"]:
        """The scores of the clips `chosen`: the mean over a clip's modalities, as in evaluation.

        Cosines and dot products are evaluation's but for rounding.
        """
        vectors = [vectors[chosen] for vectors in self.vectors.values()]
        items = _entries(vectors, [present[chosen] for present in self.present.values()])
        asked = _entries([queries], [np.ones(len(queries), bool)])
        if similarity == "cosine":
            by_modality = [partial(cosine_to, lengths_b=length) for length in self._lengths(vectors, chosen)]
            return np.asarray(mean_scores(asked, items, by_modality), np.float32)
        if similarity == "dot":
            return np.asarray(mean_scores(asked, items, [dot_to] * len(vectors)), np.float32)
        scores = block_scores(asked, items, similarity)(slice(0, len(queries)), slice(0, len(items.key)))
        return np.asarray(scores, np.float32)

    def _lengths(
        self, vectors: list[np.ndarray], chosen: slice | Int64[np.ndarray, " chosen"]
    ) -> list[Float32[Tensor, " chosen"]]:
        """Those of `chosen`; of a few vectors they are computed, as those of all would read every vector."""
        if isinstance(chosen, slice):
            return [length[chosen] for length in self.lengths.values()]
        return [lengths(torch.from_numpy(part)) for part in vectors]


def _entries(vectors: list[np.ndarray], present: list[np.ndarray]) -> Entries:
    return Entries(tuple(map(torch.from_numpy, vectors)), tuple(present), np.zeros(len(vectors[0]), np.int64))
