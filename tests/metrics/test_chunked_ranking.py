import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from tests.reference import ranking as reference
from vtr_core.errors import VtrError
from vtr_core.metrics import ranks as standing
from vtr_core.metrics.ranking import chunked_retrieval_metrics, retrieval_metrics
from vtr_core.metrics.ranks import from_labels, from_matrix


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
    ranks = [*reference.ranks(scores[asked], relevant[asked], ties), *[float(len(item_labels))] * int((~asked).sum())]
    assert (found.median_rank, found.mean_rank) == (np.median(ranks), np.mean(ranks))
    recall = reference.recall(scores[asked], relevant[asked], 1, ties) if asked.any() else 0.0
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
