"""Ranking by both spaces, and blockwise in a joint one, equals slow code; candidates change no score."""

import numpy as np
import pytest
import torch
from jaxtyping import Float32

from tests.builders.dual_toys import as_lists, hybrid, query, videos
from tests.reference import search as reference
from vtr_core.analysis.transforms import ConceptSimilarity, Transform
from vtr_core.embedding.rankings import Entries, block_scores
from vtr_core.embedding.video_ranking import (
    DualVideos,
    JointItems,
    Nearest,
    Scoring,
    VideoScores,
    best,
    best_of,
    nearest,
    prepare,
    rank_of,
    ranked,
)
from vtr_core.errors import ConfigError
from vtr_core.similarity import SimilarityKind

CLIPS, QUERIES, DIM = 23, 3, 4


@pytest.mark.parametrize("similarity", ["jaccard", "cosine"])
@pytest.mark.parametrize("values", [(1.0, 0.0, 1.0), (2.9, -0.4, 1.7)])
def test_hybrid_scores_equal_slow_code(similarity: ConceptSimilarity, values: tuple[float, float, float]) -> None:
    searched, asked = videos(similarity=similarity), query()
    scoring = Scoring("hybrid", Transform(similarity, *values), latent_weight=0.3)
    assert searched.latent is not None
    assert searched.concept is not None
    expected = reference.hybrid_scores(
        as_lists(asked.latent),
        as_lists(searched.latent),
        as_lists(asked.concept),
        as_lists(searched.concept),
        0.3,
        (*values, similarity),
    )
    scores = prepare(searched, scoring).score(asked)
    np.testing.assert_allclose(scores.total.numpy(), expected, atol=1e-5)
    assert ranked(scores, scoring, 4).tolist() == np.argsort(expected)[::-1][:4].tolist()


def test_candidates_are_the_best_in_latent_space_and_keep_their_scores() -> None:
    searched, asked = videos(40), query()
    full, few = hybrid(), hybrid(candidates=7)
    scores = prepare(searched, few).score(asked)
    assert torch.equal(scores.total, prepare(searched, full).score(asked).total)
    assert scores.latent is not None
    candidates = np.argsort(-scores.latent.numpy())[:7]
    found = ranked(scores, few, 5)
    assert set(found) <= set(candidates)
    assert found.tolist() == sorted(candidates, key=lambda i: -scores.total[i])[:5]
    assert ranked(scores, few, 5, np.array([4, 11, 2])).tolist() == sorted((2, 4, 11), key=lambda i: -scores.total[i])
    assert len(ranked(scores, few, 9)) == 9
    assert ranked(scores, hybrid(candidates=40), 40).tolist() == ranked(scores, full, 40).tolist()


def test_training_ranges_do_not_depend_on_the_query() -> None:
    searched, asked = videos(), query()
    ranges = torch.tensor([[-1.0, 1.0], [0.0, 0.5]])
    scores = prepare(searched, hybrid(normalise="train", ranges=ranges)).score(asked)
    assert scores.latent is not None
    assert scores.concept is not None
    expected = 0.6 * (scores.latent + 1) / 2 + 0.4 * scores.concept / 0.5
    torch.testing.assert_close(scores.total, expected)
    with pytest.raises(ConfigError, match="keeps no ranges"):
        hybrid(normalise="train", ranges=torch.zeros(2, 2))
    with pytest.raises(ConfigError, match="without a transform"):
        Scoring("hybrid", Transform("jaccard", 2.0), normalise="train", ranges=ranges)


def test_ties_stay_in_the_order_of_the_data() -> None:
    assert best(np.array([1.0, 3.0, 3.0, 2.0, 3.0]), 4).tolist() == [1, 2, 4, 3]
    scores = VideoScores(torch.tensor([1.0, 3.0, 3.0, 2.0]), None, None)
    assert rank_of(scores, np.array([2])) == 2
    assert rank_of(scores, np.array([0, 3])) == 3


def test_a_space_that_the_model_lacks_is_refused() -> None:
    whole = videos()
    latent = DualVideos(whole.video_id, whole.latent, None, (), "jaccard")
    concept = DualVideos(whole.video_id, None, whole.concept, whole.concepts, "jaccard")
    with pytest.raises(ConfigError, match=r"no hybrid space, it has latent; use --space latent"):
        prepare(latent, hybrid())
    with pytest.raises(ConfigError, match="no latent space, it has concept"):
        prepare(concept, Scoring("latent", Transform("jaccard")))
    for wrong in ({"latent_weight": 1.5}, {"latent_weight": float("nan")}, {"candidates": 0}):
        with pytest.raises(ConfigError):
            hybrid(**wrong)


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


def clips() -> JointItems:
    """Whole numbers, so that scores are exact and many tie; one clip's vector is NaN."""
    vectors = np.random.default_rng(0).integers(-1, 2, size=(CLIPS, DIM)).astype(np.float32)
    vectors[5] = np.nan
    return JointItems({"video": vectors}, {"video": np.ones(CLIPS, np.bool_)})


def slowly(scores: Float32[np.ndarray, " clips"], among: list[int], k: int) -> list[int]:
    """The k best of the positions `among`, by sorting all."""
    return sorted(among, key=lambda place: (np.isnan(scores[place]), -np.nan_to_num(scores[place]), place))[:k]


@pytest.mark.parametrize("block", [1, 4, 100])
@pytest.mark.parametrize("k", [1, 7, 22, 40])
@pytest.mark.parametrize("among", [None, [0, 3, 5, 6, 19, 22], [5], []], ids=["all", "some", "a NaN", "none"])
def test_the_best_are_those_of_sorting_all(
    block: int, k: int, among: list[int] | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("vtr_core.embedding.video_ranking.BLOCK", block)
    queries = np.random.default_rng(1).integers(-1, 2, size=(3, DIM)).astype(np.float32)
    queries[2] = 0  # all tie
    chosen = None if among is None else np.array(among, np.int64)
    assert nearest(clips(), queries[:0], "dot", k, chosen) == []
    parts = nearest(clips(), queries, "dot", k, chosen)
    every = queries @ clips().vectors["video"].T
    for part, scores in zip(parts, every, strict=True):
        expected = slowly(scores, list(range(CLIPS)) if among is None else among, k)
        assert part.positions.tolist() == expected
        np.testing.assert_array_equal(part.scores, scores[expected])


def test_the_best_of_parts_keep_their_order_where_they_tie() -> None:
    parts = [
        Nearest(np.array([2, 1], np.float32), np.array([1, 0])),
        Nearest(np.array([2, 1], np.float32), np.array([0, 1])).shifted(2),
    ]
    top = best_of(parts, 3)
    assert (top.scores.tolist(), top.positions.tolist()) == ([2, 2, 1], [1, 2, 0])
