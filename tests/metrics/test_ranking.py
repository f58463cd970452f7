import logging

import numpy as np
import pytest
import torch

from tests.reference import ranking as reference
from vtr_core.errors import VtrError
from vtr_core.metrics.ranking import retrieval_metrics, sum_r


def _sine(num_queries, num_items):
    i, j = np.mgrid[:num_queries, :num_items]
    return np.sin(1 + 3 * i + 5 * j)


GOLDEN = _sine(20, 20) + 0.9 * np.eye(20)
CAPTIONS = np.arange(12)[:, None] // 3 == np.arange(4)
CAPTION_SCORES = -(_sine(12, 4) - 0.7 * CAPTIONS)


def test_golden_diagonal():
    metrics = retrieval_metrics(GOLDEN)
    assert metrics.recall == pytest.approx({1: 0.50, 5: 0.55, 10: 0.80}, abs=1e-9)
    assert (metrics.median_rank, metrics.mean_rank) == (3, 5.05)
    assert (metrics.num_queries, metrics.num_items, metrics.num_tied, metrics.ties) == (20, 20, 0, "expected")
    assert retrieval_metrics(GOLDEN.T).recall == pytest.approx({1: 0.50, 5: 0.55, 10: 0.85}, abs=1e-9)


def test_golden_with_ties():
    metrics = retrieval_metrics(GOLDEN.round(1))
    assert metrics.recall == pytest.approx({1: 0.50, 5: 0.5833333333333333, 10: 0.775}, abs=1e-9)
    assert metrics.mean_rank == pytest.approx(5.05, abs=1e-9)
    assert metrics.num_tied > 0


def test_a_constant_matrix_scores_at_chance():
    metrics = retrieval_metrics(np.ones((10, 10)))
    assert metrics.recall == pytest.approx({1: 0.1, 5: 0.5, 10: 1.0}, abs=1e-12)
    assert (metrics.median_rank, metrics.mean_rank, metrics.num_tied) == (5.5, 5.5, 10)
    assert metrics.mean_average_precision == pytest.approx(np.mean(1 / np.arange(1, 11)), abs=1e-12)


def test_golden_with_several_relevant_items():
    text_to_video = retrieval_metrics(CAPTION_SCORES, CAPTIONS)
    assert text_to_video.recall == pytest.approx({1: 0.5, 5: 1.0, 10: 1.0}, abs=1e-9)
    assert text_to_video.median_rank == 1.5
    assert text_to_video.mean_rank == pytest.approx(25 / 12, abs=1e-9)
    assert text_to_video.mean_average_precision == pytest.approx(0.6666666667, abs=1e-9)
    video_to_text = retrieval_metrics(CAPTION_SCORES.T, CAPTIONS.T)
    assert video_to_text.recall[1] == 1.0
    assert video_to_text.mean_average_precision == pytest.approx(0.6775793651, abs=1e-9)
    assert sum_r(text_to_video, video_to_text) == pytest.approx(250 + 300, abs=1e-9)


@pytest.mark.parametrize("ties", ["expected", "optimistic", "pessimistic"])
def test_equals_slow_code_with_many_ties(ties):
    generator = np.random.default_rng(0)
    scores = generator.integers(0, 3, (30, 6)).astype(np.float32)
    relevant = generator.random((30, 6)) < 0.4
    relevant[~relevant.any(axis=1), 2] = True
    metrics = retrieval_metrics(scores, relevant, ks=(1, 2, 6), ties=ties)
    for k in (1, 2, 6):
        assert metrics.recall[k] == pytest.approx(reference.recall(scores, relevant, k, ties), abs=1e-12)
    ranks = reference.ranks(scores, relevant, ties)
    assert metrics.mean_rank == pytest.approx(np.mean(ranks), abs=1e-12)
    assert metrics.median_rank == np.median(ranks)
    expected = reference.mean_average_precision(scores, relevant, ties)
    assert metrics.mean_average_precision == pytest.approx(expected, abs=1e-12)


def test_a_torch_tensor_scores_like_its_array():
    assert retrieval_metrics(torch.from_numpy(GOLDEN)) == retrieval_metrics(GOLDEN)
    relevant = torch.from_numpy(CAPTIONS)
    assert retrieval_metrics(CAPTION_SCORES, relevant) == retrieval_metrics(CAPTION_SCORES, CAPTIONS)
    half = GOLDEN.astype(np.float16)
    assert retrieval_metrics(half) == retrieval_metrics(half.astype(np.float64))


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_a_score_that_is_not_finite_names_the_first_query(bad):
    scores = GOLDEN.copy()
    scores[13, 2] = scores[7, 19] = bad
    with pytest.raises(VtrError, match="query 7 "):
        retrieval_metrics(scores)


def test_a_query_without_relevant_items():
    scores = np.array([[2.0, 1.0, 0.0], [2.0, 1.0, 0.0]])
    relevant = np.array([[True, False, False], [False, False, False]])
    with pytest.raises(VtrError, match="query 1 has no relevant item"):
        retrieval_metrics(scores, relevant)
    metrics = retrieval_metrics(scores, relevant, missing="count_as_failure")
    assert metrics.recall == {1: 0.5, 5: 0.5, 10: 0.5}
    assert (metrics.mean_rank, metrics.mean_average_precision, metrics.num_queries) == (2.0, 0.5, 2)


@pytest.mark.parametrize(
    ("scores", "relevant"),
    [
        (np.zeros((3, 4)), None),
        (np.zeros((3, 4)), np.ones((4, 3), bool)),
        (np.zeros(3), None),
        (np.zeros((0, 0)), None),
    ],
)
def test_shapes_that_make_no_sense_are_errors(scores, relevant):
    with pytest.raises(VtrError):
        retrieval_metrics(scores, relevant)


def test_sum_r_needs_its_three_recalls():
    metrics = retrieval_metrics(GOLDEN, ks=(1, 10))
    with pytest.raises(VtrError, match="SumR needs recall"):
        sum_r(metrics, metrics)


def test_warns_of_more_than_one_tied_query_in_a_thousand(caplog):
    scores = np.eye(1000, dtype=np.float32)
    scores[0, 1] = 1.0
    with caplog.at_level(logging.WARNING):
        assert retrieval_metrics(scores).num_tied == 1
        assert not caplog.records
        scores[1, 2] = 1.0
        assert retrieval_metrics(scores).num_tied == 2
        assert "2 of 1000 queries tie" in caplog.text
