import pytest
import torch

from tests.reference import losses as reference
from vtr_core.losses.contrastive import (
    info_nce,
    masked_margin_softmax,
    max_margin_ranking,
    mil_nce,
    sigmoid_contrastive,
)

ROW, COLUMN = torch.meshgrid(
    torch.arange(6.0, dtype=torch.float64), torch.arange(6.0, dtype=torch.float64), indexing="ij"
)
GOLDEN = torch.sin(1 + 3 * ROW + 5 * COLUMN) + 0.5 * torch.eye(6, dtype=torch.float64)
VIDEOS = torch.cos(0.7 * torch.arange(12) + 0.3).reshape(3, 4)
TEXTS = torch.cos(0.45 * torch.arange(24) + 0.1).reshape(6, 4)


def _random(seed=0, size=5):
    generator = torch.Generator().manual_seed(seed)
    similarity = torch.randn(size, size, generator=generator, dtype=torch.float64)
    negatives = torch.rand(size, size, generator=generator) < 0.6
    return similarity, negatives


@pytest.mark.parametrize(
    ("margin", "expected"),
    [
        (0.0, 2.9284942988),
        (0.001, 2.9299546711),
        (0.1, 3.0762933476),
        (torch.full((6,), 0.1, dtype=torch.float64), 3.0762933453),  # 0.1 itself, not the float32 nearest to it
        (1.0, 4.5445359855),
    ],
)
def test_masked_margin_softmax_golden(margin, expected):
    assert masked_margin_softmax(GOLDEN, margin).item() == pytest.approx(expected, abs=1e-9)


def test_max_margin_ranking_golden():
    assert max_margin_ranking(GOLDEN, 0.1).item() == pytest.approx(0.3670432575, abs=1e-9)


def test_mil_nce_golden():
    assert mil_nce(VIDEOS @ TEXTS.T).item() == pytest.approx(2.0454356670, abs=1e-6)
    assert mil_nce(VIDEOS @ TEXTS.T).item() == pytest.approx(
        reference.mil_nce(VIDEOS.tolist(), TEXTS.tolist(), 2), abs=1e-5
    )


def test_masked_margin_softmax_equals_loops():
    similarity, negatives = _random()
    margins = torch.linspace(0, 0.4, 5, dtype=torch.float64)
    for mask in (None, negatives):
        expected = reference.masked_margin_softmax(similarity.tolist(), margins.tolist(), mask)
        assert masked_margin_softmax(similarity, margins, mask).item() == pytest.approx(expected, abs=1e-9)


def test_info_nce_is_the_sum_of_two_cross_entropies():
    similarity, negatives = _random(1)
    targets = torch.arange(5)
    rows = torch.nn.functional.cross_entropy(similarity / 0.07, targets)
    columns = torch.nn.functional.cross_entropy(similarity.T / 0.07, targets)
    assert info_nce(similarity, 0.07).item() == pytest.approx((rows + columns).item(), abs=1e-9)
    expected = reference.masked_margin_softmax((similarity / 0.5).tolist(), [0.0] * 5, negatives)
    assert info_nce(similarity, 0.5, negatives).item() == pytest.approx(expected, abs=1e-9)


def test_mil_nce_equals_loops_under_a_mask():
    generator = torch.Generator().manual_seed(3)
    videos = torch.randn(4, 3, generator=generator, dtype=torch.float64)
    texts = torch.randn(12, 3, generator=generator, dtype=torch.float64)
    _, negatives = _random(3, 4)
    expected = reference.mil_nce(videos.tolist(), texts.tolist(), 3, negatives)
    assert mil_nce(videos @ texts.T, negatives).item() == pytest.approx(expected, abs=1e-9)
    with pytest.raises(ValueError, match="cannot be divided"):
        mil_nce(videos @ texts[:5].T)


def test_ranking_and_sigmoid_equal_loops_under_a_mask():
    similarity, negatives = _random(4)
    for mask in (None, negatives):
        expected = reference.max_margin_ranking(similarity.tolist(), 0.2, mask)
        assert max_margin_ranking(similarity, 0.2, mask).item() == pytest.approx(expected, abs=1e-9)
        expected = reference.sigmoid_contrastive(similarity.tolist(), 10.0, -10.0, mask)
        assert sigmoid_contrastive(similarity, negatives=mask).item() == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize(
    "loss",
    [
        lambda s, n: masked_margin_softmax(s, 0.1, n),
        lambda s, n: info_nce(s, 0.1, n),
        lambda s, n: mil_nce(s, n),
        lambda s, n: max_margin_ranking(s, 0.1, n),
        lambda s, n: sigmoid_contrastive(s, negatives=n),
    ],
)
def test_a_pair_that_is_no_negative_has_no_gradient(loss):
    similarity, negatives = _random(5)
    negatives = negatives & negatives.T
    similarity.requires_grad_()
    loss(similarity, negatives).backward()
    assert similarity.grad.isfinite().all()
    masked = ~(negatives | torch.eye(5, dtype=torch.bool))
    assert (similarity.grad[masked] == 0).all()
    assert masked.any()
