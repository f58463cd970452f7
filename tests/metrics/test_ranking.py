"""Retrieval metrics of whole and chunked scores, and those of chance."""

import logging

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from tests.reference import ranking as slow_ranking
from tests.reference.ranking import average_precision
from vtr_core.errors import VtrError
from vtr_core.metrics import ranks as standing
from vtr_core.metrics.ranking import chance, chunked_retrieval_metrics, retrieval_metrics, sum_r
from vtr_core.metrics.ranks import from_labels, from_matrix


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
        assert metrics.recall[k] == pytest.approx(slow_ranking.recall(scores, relevant, k, ties), abs=1e-12)
    ranks = slow_ranking.ranks(scores, relevant, ties)
    assert metrics.mean_rank == pytest.approx(np.mean(ranks), abs=1e-12)
    assert metrics.median_rank == np.median(ranks)
    expected = slow_ranking.mean_average_precision(scores, relevant, ties)
    assert metrics.mean_average_precision == pytest.approx(expected, abs=1e-12)


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


@st.composite
def _labelled_scores(draw):
    """Scores with frequent ties, and labels under which some queries have no relevant item and some have several."""
    num_queries, num_items = draw(st.integers(1, 12)), draw(st.integers(1, 12))
    scores = draw(arrays(np.float32, (num_queries, num_items), elements=st.integers(-2, 2)))
    labels = st.integers(0, 4)
    query_labels = draw(arrays(np.int64, num_queries, elements=labels))
    item_labels = draw(arrays(np.int64, num_items, elements=labels))
    return scores, query_labels, item_labels


TIES = st.sampled_from(["expected", "optimistic", "pessimistic"])


@settings(max_examples=60)
@given(_labelled_scores(), st.integers(1, 13), st.sampled_from([0, 2, 16]), st.sampled_from([0, 20, 2**25]), TIES)
def test_neither_the_way_of_counting_nor_the_kept_blocks_matter(labelled, item_chunk, few, kept, ties):
    scores, query_labels, item_labels = labelled
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(standing, "FEW", few)
        patched.setattr(standing, "KEPT_SCORES", kept)
        found = chunked_retrieval_metrics(
            lambda queries, items: scores[queries, items],
            from_labels(query_labels, item_labels),
            ties=ties,
            missing="count_as_failure",
            query_chunk=5,
            item_chunk=item_chunk,
        )
    relevant = query_labels[:, None] == item_labels
    asked = relevant.any(axis=1)
    ranks = [
        *slow_ranking.ranks(scores[asked], relevant[asked], ties),
        *[float(len(item_labels))] * int((~asked).sum()),
    ]
    assert (found.median_rank, found.mean_rank) == (np.median(ranks), np.mean(ranks))
    recall = slow_ranking.recall(scores[asked], relevant[asked], 1, ties) if asked.any() else 0.0
    assert found.recall[1] == pytest.approx(recall * asked.mean(), abs=1e-12)


@settings(max_examples=60)
@given(_labelled_scores(), st.integers(1, 13), st.integers(1, 13), TIES)
def test_chunked_equals_whole_bit_for_bit(labelled, query_chunk, item_chunk, ties):
    scores, query_labels, item_labels = labelled
    chunked = chunked_retrieval_metrics(
        lambda queries, items: scores[queries, items],
        from_labels(query_labels, item_labels),
        ties=ties,
        missing="count_as_failure",
        query_chunk=query_chunk,
        item_chunk=item_chunk,
    )
    whole = retrieval_metrics(scores, query_labels[:, None] == item_labels, ties=ties, missing="count_as_failure")
    assert chunked == whole


def test_no_block_is_larger_than_asked_for():
    scores = np.random.default_rng(0).normal(size=(50, 70))
    blocks = []

    def score_chunk(queries, items):
        blocks.append((queries.stop - queries.start, items.stop - items.start))
        return scores[queries, items]

    labels = np.arange(70) // 7
    chunked_retrieval_metrics(score_chunk, from_labels(np.arange(50) // 5, labels), query_chunk=8, item_chunk=16)
    assert max(rows for rows, _ in blocks) == 8
    assert max(columns for _, columns in blocks) == 16


def test_the_first_offending_query_is_named_across_chunks():
    scores = np.eye(40)
    scores[33, 0] = scores[21, 39] = scores[22, 0] = np.nan
    with pytest.raises(VtrError, match="query 21 "):
        chunked_retrieval_metrics(
            lambda queries, items: scores[queries, items],
            from_matrix(np.eye(40, dtype=bool)),
            query_chunk=7,
            item_chunk=9,
        )


def test_labels_give_the_relevance_of_their_matrix():
    generator = np.random.default_rng(1)
    query_labels, item_labels = generator.integers(-3, 9, 23), generator.integers(-3, 9, 31)
    by_labels, by_matrix = from_labels(query_labels, item_labels), from_matrix(query_labels[:, None] == item_labels)
    np.testing.assert_array_equal(by_labels.items, by_matrix.items)
    np.testing.assert_array_equal(by_labels.offsets, by_matrix.offsets)


def test_equals_the_mean_over_random_rankings():
    generator = np.random.default_rng(0)
    counts = [1, 1, 2, 5]
    relevance = from_labels(np.arange(4), np.repeat(np.arange(5), [*counts, 3]))
    draws = np.stack([generator.permuted(np.arange(12) < count) for count in counts for _ in range(20_000)])
    first = draws.argmax(axis=1) + 1
    expected = chance(relevance)
    for k in (1, 5, 10):
        assert expected.recall[k] == pytest.approx((first <= k).mean(), abs=0.01)
    assert expected.mean_rank == pytest.approx(first.mean(), abs=0.05)
    assert expected.median_rank == np.median(first)
    sampled = np.mean([average_precision(row) for row in draws])
    assert expected.mean_average_precision == pytest.approx(sampled, abs=0.005)


def test_queries_without_relevant_items_fail():
    relevance = from_matrix(np.array([[True, False], [False, False], [False, False]]))
    with pytest.raises(VtrError, match="query 1 has no relevant item"):
        chance(relevance)
    metrics = chance(relevance, missing="count_as_failure")
    assert metrics.recall == pytest.approx({1: 1 / 6, 5: 1 / 3, 10: 1 / 3})
    assert metrics.median_rank == 2
    assert metrics.mean_rank == pytest.approx((1.5 + 2 + 2) / 3)
