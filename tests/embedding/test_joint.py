"""Scores of a search's clips are those of the evaluation, whatever clips are chosen and whatever a clip lacks."""

import numpy as np
import pytest
import torch

from vtr_core.embedding.scoring import Entries, block_scores
from vtr_core.embedding.video_ranking import JointItems
from vtr_core.similarity import SimilarityKind

CLIPS, QUERIES, DIM = 9, 3, 5


@pytest.mark.parametrize("similarity", ["cosine", "dot", "neg_euclidean"])
@pytest.mark.parametrize("names", [("video",), ("audio", "video")], ids=str)
def test_scores_are_those_of_the_evaluation(names: tuple[str, ...], similarity: SimilarityKind) -> None:
    generator = np.random.default_rng(0)
    present = {name: generator.random(CLIPS) < 0.7 for name in names}
    drawn = {name: generator.normal(size=(CLIPS, DIM)).astype(np.float32) for name in names}
    vectors = {name: np.where(present[name][:, None], drawn[name], 0).astype(np.float32) for name in names}
    queries = generator.normal(size=(QUERIES, DIM)).astype(np.float32)
    items = Entries(
        tuple(torch.from_numpy(vectors[name]) for name in names), tuple(present.values()), np.zeros(CLIPS, np.int64)
    )
    asked = Entries((torch.from_numpy(queries),), (np.ones(QUERIES, bool),), np.zeros(QUERIES, np.int64))
    expected = block_scores(asked, items, similarity)(slice(0, QUERIES), slice(0, CLIPS))
    searched, chosen = JointItems(vectors, present), np.array([1, 2, 6])
    np.testing.assert_allclose(searched.scores(queries, similarity), expected, atol=1e-6)
    np.testing.assert_allclose(searched.scores(queries, similarity, chosen), expected[:, chosen], atol=1e-6)
