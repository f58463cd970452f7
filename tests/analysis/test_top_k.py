import pytest
import torch

from tests.reference import causality as reference
from vtr_core.analysis import transforms as top_k
from vtr_core.analysis.transforms import top_k_similarity
from vtr_core.errors import ConfigError


def _sides(similarity):
    generator = torch.Generator().manual_seed(4)
    scores = torch.randn(9, 8, generator=generator, dtype=torch.float64)
    scores = scores.sigmoid() if similarity == "jaccard" else scores
    return scores[:5], scores[5:]


@pytest.mark.parametrize("similarity", ["jaccard", "cosine"])
def test_equals_loops_across_blocks(similarity, monkeypatch):
    text, video = _sides(similarity)
    monkeypatch.setattr(top_k, "PAIR_BLOCK", 2 * video.numel())
    found = top_k_similarity(text, video, (1, 3, 8, 20), similarity)
    for k, scores in found.items():
        expected = [[reference.top_k_similarity(v, s, k, similarity) for v in video.tolist()] for s in text.tolist()]
        torch.testing.assert_close(scores, torch.tensor(expected, dtype=torch.float64), rtol=1e-12, atol=1e-12)


def test_a_pair_that_shares_nothing_scores_0_not_nan():
    zeros = torch.zeros(1, 3)
    for similarity in ("jaccard", "cosine"):
        assert top_k_similarity(zeros, zeros, (2,), similarity)[2].tolist() == [[0.0]]


@pytest.mark.parametrize("ks", [(), (0, 3)])
def test_no_k_or_a_k_below_1_is_an_error(ks):
    with pytest.raises(ConfigError, match="at least 1"):
        top_k_similarity(torch.ones(1, 3), torch.ones(1, 3), ks, "jaccard")
