import pytest
import torch

from tests.reference.causality import matched_precisions
from vtr_core.analysis.ensembles import MatchedRanking
from vtr_core.metrics.ranking import retrieval_metrics
from vtr_core.metrics.ranks import MetricError
from vtr_core.similarity import hybrid

CAPTION_VIDEO = torch.tensor([1, 0, 3, 1, 1, 0, 3])
"""Video 2 has no caption."""


@pytest.mark.parametrize("digits", [8, 1, 0])
def test_equals_loops_with_and_without_ties(digits):
    generator = torch.Generator().manual_seed(digits)
    scores = torch.rand(7, 4, generator=generator).round(decimals=digits)
    found = MatchedRanking(CAPTION_VIDEO, 4).precision(scores)
    expected = matched_precisions(scores.tolist(), CAPTION_VIDEO.tolist())
    assert (found.text_to_video, found.video_to_text) == pytest.approx(expected, rel=1e-12)
    assert found.mean == pytest.approx(sum(expected) / 2, rel=1e-12)


@pytest.mark.parametrize("decimals", [6, 1])
def test_equals_the_metrics_of_record(decimals):
    generator = torch.Generator().manual_seed(0)
    scores = torch.randn(200, 30, generator=generator).round(decimals=decimals)
    owner = torch.arange(200) % 30
    relevant = torch.arange(30) == owner.unsqueeze(1)
    found = MatchedRanking(owner, 30).precision(scores)
    there, back = retrieval_metrics(scores, relevant.numpy()), retrieval_metrics(scores.T, relevant.T.numpy())
    assert found.text_to_video == pytest.approx(there.mean_average_precision, rel=1e-12)
    assert found.video_to_text == pytest.approx(back.mean_average_precision, rel=1e-12)


def test_golden_values():
    """Of the specifications of the retrieval metrics, and of the dual encoder's hybrid score."""
    i, j = torch.arange(12, dtype=torch.float64).unsqueeze(1), torch.arange(4, dtype=torch.float64)
    owner = torch.arange(12) // 3
    own = (owner.unsqueeze(1) == torch.arange(4)).double()
    latent = -(torch.sin(1 + 3 * i + 5 * j) - 0.7 * own)
    concept = -(torch.cos(2 * i + 1.1 * j) - 0.4 * own)
    ranking = MatchedRanking(owner, 4)
    alone, both = ranking.precision(latent), ranking.precision(hybrid(latent, concept, 0.6, "matrix"))
    assert (alone.text_to_video, alone.video_to_text) == pytest.approx((0.6666666667, 0.6775793651), abs=1e-10)
    assert (both.text_to_video, both.video_to_text) == pytest.approx((0.7430555556, 0.6599206349), abs=1e-10)


def test_a_score_that_is_not_finite_is_an_error():
    scores = torch.zeros(7, 4)
    scores[3, 2] = torch.nan
    with pytest.raises(MetricError, match="not finite"):
        MatchedRanking(CAPTION_VIDEO, 4).precision(scores)
