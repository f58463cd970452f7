"""The part of a similarity that comes from its strongest concepts, over sets of pairs."""

import numpy as np
import pytest
import torch

from tests.reference import causality as slow_causality
from vtr_core.analysis import causality
from vtr_core.analysis.causality import Pairs, causality_at_k, causality_curves, every_set, random_pairs, top_pairs
from vtr_core.errors import ConfigError
from vtr_core.similarity import contributions

SIMILARITIES = ("jaccard", "cosine", "dot")


def _rows(similarity, count, concepts=9, seed=0):
    generator = torch.Generator().manual_seed(seed)
    scores = torch.randn(2, count, concepts, generator=generator, dtype=torch.float64)
    return torch.sigmoid(scores) if similarity == "jaccard" else scores


@pytest.mark.parametrize("similarity", SIMILARITIES)
def test_contributions_equal_loops(similarity):
    video, text = _rows(similarity, 7)
    expected = [
        slow_causality.contributions(v, s, similarity) for v, s in zip(video.tolist(), text.tolist(), strict=True)
    ]
    found = contributions(video, text, similarity)
    torch.testing.assert_close(found, torch.tensor(expected, dtype=torch.float64), rtol=1e-12, atol=0)


@pytest.mark.parametrize("similarity", SIMILARITIES)
def test_a_pair_that_shares_nothing_contributes_0_not_nan(similarity):
    zeros = torch.zeros(1, 4)
    assert contributions(zeros, torch.ones(1, 4), similarity).tolist() == [[0.0] * 4]
    assert causality_at_k(zeros, torch.ones(1, 4), 2, similarity).mean == 0.0


@pytest.mark.parametrize("similarity", SIMILARITIES)
@pytest.mark.parametrize("k", [1, 4, 9, 50])
def test_causality_at_k_equals_loops_across_chunks(similarity, k, monkeypatch):
    monkeypatch.setattr(causality, "PAIR_CHUNK", 3)
    video, text = _rows(similarity, 7)
    expected = [
        slow_causality.causality_at_k(v, s, k, similarity) for v, s in zip(video.tolist(), text.tolist(), strict=True)
    ]
    found = causality_at_k(video, text, k, similarity, concept_weight=0.4)
    assert found.values.tolist() == pytest.approx([0.4 * value for value in expected], rel=1e-12)
    assert found.mean == pytest.approx(0.4 * np.mean(expected), rel=1e-12)


@pytest.mark.parametrize("similarity", SIMILARITIES)
def test_curves_equal_loops_across_chunks(similarity, monkeypatch):
    monkeypatch.setattr(causality, "PAIR_CHUNK", 4)
    video, text = _rows(similarity, 6)
    pairs = Pairs("some", torch.tensor([0, 5, 2, 2, 3, 1, 0, 4, 4]), torch.tensor([1, 1, 0, 3, 5, 2, 0, 4, 5]))
    chosen = [(video[v].tolist(), text[s].tolist()) for v, s in zip(pairs.video, pairs.text, strict=True)]
    ordered = np.array([sorted(slow_causality.contributions(v, s, similarity), reverse=True) for v, s in chosen])
    found = causality_curves(video, text, pairs, similarity)
    np.testing.assert_allclose(found.individual_mean, ordered.mean(axis=0), rtol=1e-12)
    np.testing.assert_allclose(found.individual_std, ordered.std(axis=0), rtol=1e-9)
    np.testing.assert_allclose(found.cumulative_mean, ordered.cumsum(axis=1).mean(axis=0), rtol=1e-12)
    np.testing.assert_allclose(found.cumulative_std, ordered.cumsum(axis=1).std(axis=0), rtol=1e-9, atol=1e-15)
    at = causality_at_k(video[pairs.video], text[pairs.text], 3, similarity)
    assert found.at(3) == pytest.approx(at.mean, rel=1e-9)
    assert found.at(99) == found.at(9)


def test_a_small_spread_does_not_cancel(monkeypatch):
    monkeypatch.setattr(causality, "PAIR_CHUNK", 100)
    generator = torch.Generator().manual_seed(0)
    video = 0.5 + 1e-6 * torch.rand(300, 4, generator=generator, dtype=torch.float64)
    pairs = Pairs("all", torch.arange(300), torch.arange(300))
    found = causality_curves(video, video, pairs, "jaccard")
    shares = np.sort((video / video.sum(dim=1, keepdim=True)).numpy(), axis=1)[:, ::-1]
    np.testing.assert_allclose(found.individual_std, shares.std(axis=0), rtol=1e-6)


def test_no_pairs_and_k_below_1_are_errors():
    video, text = _rows("jaccard", 2)
    with pytest.raises(ConfigError, match="at least 1"):
        causality_at_k(video, text, 0, "jaccard")
    with pytest.raises(ConfigError, match="there are none"):
        causality_at_k(video[:0], text[:0], 10, "jaccard")


SCORES = torch.tensor([[0.1, 0.9, 0.5], [0.8, 0.2, 0.3], [0.4, 0.6, 0.7], [0.5, 0.3, 0.2]])


def _listed(pairs):
    return list(zip(pairs.text.tolist(), pairs.video.tolist(), strict=True))


def test_top_pairs_of_both_directions():
    assert _listed(top_pairs(SCORES, 2, "text_to_video")) == [
        (0, 1), (0, 2), (1, 0), (1, 2), (2, 2), (2, 1), (3, 0), (3, 1),
    ]  # fmt: skip
    assert _listed(top_pairs(SCORES, 2, "video_to_text")) == [(1, 0), (3, 0), (0, 1), (2, 1), (2, 2), (0, 2)]


def test_random_pairs_are_those_of_the_seed_and_reach_everything():
    pairs = random_pairs(3, 4, seed=7, count=500)
    assert set(_listed(pairs)) == {(text, video) for text in range(4) for video in range(3)}
    assert _listed(pairs) == _listed(random_pairs(3, 4, seed=7, count=500))
    assert _listed(pairs) != _listed(random_pairs(3, 4, seed=8, count=500))


def test_the_six_sets_of_the_figure():
    names = [pairs.name for pairs in every_set(SCORES, torch.tensor([1, 0, 2, 0]), seed=0)]
    assert names == [
        "matched",
        "text->video top 1",
        "text->video top 10",
        "video->text top 1",
        "video->text top 10",
        "random",
    ]
