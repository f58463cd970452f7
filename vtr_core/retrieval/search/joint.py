"""Scores of clips in one joint space under the similarity of training."""

from collections.abc import Sequence

import numpy as np
import torch
from jaxtyping import Float32

from vtr_core.retrieval.evaluate.entries import Entries
from vtr_core.retrieval.evaluate.scoring import block_scores
from vtr_core.similarity import SimilarityKind


def joint_scores(
    vectors: dict[str, np.ndarray],
    present: dict[str, np.ndarray],
    queries: Float32[np.ndarray, "queries dim"],
    similarity: SimilarityKind,
    chosen: Sequence[int] | np.ndarray | None = None,
) -> Float32[np.ndarray, "queries clips"]:
    """The scores of the clips `chosen` (None: all); a clip's modalities are added, as in evaluation."""
    names = list(vectors)
    index = slice(None) if chosen is None else np.asarray(chosen)
    items = Entries(
        tuple(torch.from_numpy(vectors[name][index]) for name in names),
        tuple(present[name][index] for name in names),
        np.zeros(len(vectors[names[0]][index]), np.int64),
    )
    asked = Entries((torch.from_numpy(queries),), (np.ones(len(queries), bool),), np.zeros(len(queries), np.int64))
    scores = block_scores(asked, items, similarity)(slice(0, len(queries)), slice(0, len(items.key)))
    return np.asarray(scores, np.float32)
