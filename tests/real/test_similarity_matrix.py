"""The exact figures of a trained model's text × video similarity matrix on MSR-VTT 1k-A."""

import numpy as np
import pytest

from vtr_core.metrics.ranking import retrieval_metrics

pytestmark = pytest.mark.real


@pytest.fixture(scope="module")
def similarity(shared_data):
    return np.load(shared_data / "similarity" / "msrvtt_titles_matrix.npy")


def test_text_to_video(similarity):
    metrics = retrieval_metrics(similarity)
    assert metrics.recall == pytest.approx({1: 0.297, 5: 0.558, 10: 0.666}, abs=1e-12)
    assert (metrics.median_rank, metrics.num_tied) == (4, 0)
    assert metrics.mean_rank == pytest.approx(26.7, abs=0.05)


def test_video_to_text(similarity):
    """Some of the 1,000 titles read alike, so their rows are equal and 9 videos tie; the figures are optimistic."""
    metrics = retrieval_metrics(similarity.T, ties="optimistic")
    assert metrics.recall == pytest.approx({1: 0.284, 5: 0.549, 10: 0.668}, abs=1e-12)
    assert (metrics.median_rank, metrics.num_tied) == (4, 9)
    assert metrics.mean_rank == pytest.approx(27.1, abs=0.05)


def test_video_to_text_with_ties_at_their_expected_worth(similarity):
    metrics = retrieval_metrics(similarity.T)
    assert metrics.recall == pytest.approx({1: 0.2825, 5: 0.549, 10: 0.668}, abs=1e-12)
    assert (metrics.median_rank, metrics.num_tied) == (4, 9)
    assert metrics.mean_rank == pytest.approx(27.093, abs=1e-9)
