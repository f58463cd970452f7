"""Ranking by both spaces equals slow code; candidates restrict it and change no score."""

import numpy as np
import pytest
import torch

from tests.builders.dual_toys import as_lists, hybrid, query, videos
from tests.reference import search as reference
from vtr_core.analysis.transforms import ConceptSimilarity, Transform
from vtr_core.embedding.video_ranking import DualVideos, Scoring, VideoScores, best, prepare, rank_of, ranked
from vtr_core.errors import ConfigError


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


def test_one_space_alone_ranks_by_its_own_scores() -> None:
    searched, asked = videos(), query()
    for space, place in (("latent", 1), ("concept", 2)):
        scoring = Scoring(space, Transform("jaccard"))  # type: ignore[arg-type]
        scores = prepare(searched, scoring).score(asked)
        assert torch.equal(scores.total, (scores.total, scores.latent, scores.concept)[place])  # type: ignore[arg-type]
        assert scoring.concept_weight == place - 1


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
    assert (whole.default_space, latent.default_space, concept.default_space) == ("hybrid", "latent", "concept")
    with pytest.raises(ConfigError, match=r"no hybrid space, it has latent; use --space latent"):
        prepare(latent, hybrid())
    with pytest.raises(ConfigError, match="no latent space, it has concept"):
        prepare(concept, Scoring("latent", Transform("jaccard")))
    for wrong in ({"latent_weight": 1.5}, {"latent_weight": float("nan")}, {"candidates": 0}):
        with pytest.raises(ConfigError):
            hybrid(**wrong)
