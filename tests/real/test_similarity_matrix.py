"""The exact figures of a trained model's text × video similarity matrix on MSR-VTT 1k-A."""

import numpy as np
import pytest

from vtr_core.metrics.ranking import retrieval_metrics

pytestmark = pytest.mark.real


@pytest.fixture(scope="module")
def similarity(shared_data):
    return np.load(shared_data / "similarity" / "msrvtt_titles_matrix.npy")


@pytest.mark.parametrize(
    ("direction", "ties", "recall", "num_tied", "mean_rank"),
    [
        ("text to video", "expected", {1: 0.297, 5: 0.558, 10: 0.666}, 0, 26.7),
        ("video to text", "optimistic", {1: 0.284, 5: 0.549, 10: 0.668}, 9, 27.1),
        ("video to text", "expected", {1: 0.2825, 5: 0.549, 10: 0.668}, 9, 27.093),
    ],
)
def test_figures(similarity, direction, ties, recall, num_tied, mean_rank):
    """Some of the 1,000 titles read alike, so their rows are equal and 9 videos tie."""
    metrics = retrieval_metrics(similarity if direction == "text to video" else similarity.T, ties=ties)
    assert metrics.recall == pytest.approx(recall, abs=1e-12)
    assert (metrics.median_rank, metrics.num_tied) == (4, num_tied)
    assert metrics.mean_rank == pytest.approx(mean_rank, abs=0.05)
