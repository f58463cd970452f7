import numpy as np
import pytest

from tests.reference.ranking import average_precision
from vtr_core.errors import VtrError
from vtr_core.metrics.ranking import chance
from vtr_core.metrics.ranks import from_labels, from_matrix


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
