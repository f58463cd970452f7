import numpy as np
import pytest
import torch
from torch.nn.functional import normalize

from tests.reference import granularity as reference
from vtr_core.config.losses import GranularityMarginConfig
from vtr_core.data.batches import RowKeys
from vtr_core.data.captions import InformationTable
from vtr_core.losses.granularity import (
    GranularityMargin,
    bins,
    correlation,
    nearest_bin,
)

VALUES = np.array([0.111, 0.114, 0.52, 0.31, 0.9, 0.47])
TABLE = InformationTable("leave_one_out", "x", np.array([1, 1, 2, 2, 3, 3]), np.array([11, 12, 21, 22, 31, 32]), VALUES)
KEYS = RowKeys(torch.tensor([1, 2, 3]), torch.tensor([1, 2, 3]), torch.tensor([12, 21, 32]))
COSINES = torch.tensor([[0.8, 0.1, -0.2], [0.3, 0.5, 0.0], [-0.1, 0.2, 0.6]])


def margin(**settings: object) -> GranularityMargin:
    torch.manual_seed(1)
    return GranularityMargin(GranularityMarginConfig(**{"warmup_steps": 2, "codebook_dim": 4, **settings}), TABLE)


def bias_cosines(module: GranularityMargin) -> torch.Tensor:
    video, sentence = module.extractor(KEYS.video, KEYS.caption)
    return normalize(video, dim=1) @ normalize(sentence, dim=1).T


def test_bins_are_rounded_values_and_others_take_the_nearest() -> None:
    edges = bins(np.array([0.114, 0.111, 0.52, 0.9]), 2)
    assert edges.tolist() == [0.11, 0.52, 0.9]
    assert nearest_bin(np.array([-1.0, 0.11, 0.3, 0.315, 0.33, 0.72, 5.0]), edges).tolist() == [0, 0, 0, 0, 1, 2, 2]
    assert nearest_bin(np.array([0.3, 7.0]), np.array([0.5])).tolist() == [0, 0]


def test_the_schedule_is_bias_first_then_the_margin() -> None:
    module = margin()
    assert set(module(COSINES, KEYS, slice(0, 3), 1).by_term) == {"bias"}
    assert set(module(COSINES, KEYS, slice(0, 3), 2).by_term) == {"margin"}
    assert set(margin(freeze_bias=False)(COSINES, KEYS, slice(0, 3), 2).by_term) == {"bias", "margin"}


def test_terms_are_those_of_plain_code() -> None:
    module = margin(freeze_bias=False, weight=0.5)
    found, bias = module(COSINES, KEYS, slice(0, 3), 2).by_term, bias_cosines(module)
    assert found["bias"].item() == pytest.approx(reference.bias(bias.tolist(), 0.2), rel=1e-5)
    expected = 0.5 * reference.margin(COSINES.tolist(), bias.diagonal().tolist(), 0.07)
    assert found["margin"].item() == pytest.approx(expected, rel=1e-3)


def test_a_frozen_extractor_has_no_gradient() -> None:
    for settings, step, learns in (({}, 0, True), ({}, 2, False), ({"freeze_bias": False}, 2, True)):
        module = margin(**settings)
        scores = COSINES.clone().requires_grad_()
        (sum(module(scores, KEYS, slice(0, 3), step).by_term.values()) + 0 * scores.sum()).backward()
        assert all((weight.grad is not None) == learns for weight in module.parameters())


def test_rows_of_the_same_video_are_no_negatives() -> None:
    keys = RowKeys(torch.tensor([1, 1, 3]), torch.tensor([1, 1, 3]), torch.tensor([11, 12, 32]))
    module = margin(warmup_steps=0)
    video, sentence = module.extractor(keys.video, keys.caption)
    bias = (normalize(video, dim=1) @ normalize(sentence, dim=1).T).diagonal().tolist()
    expected = reference.margin(COSINES.tolist(), bias, 0.07, lambda i, j: 2 in (i, j))
    assert module(COSINES, keys, slice(0, 3), 0).by_term["margin"].item() == pytest.approx(expected, rel=1e-3)


def test_the_health_is_the_correlation_of_angle_and_value() -> None:
    module = margin()
    angles = torch.acos(bias_cosines(module).diagonal()).detach().numpy()
    found = module(COSINES, KEYS, slice(0, 3), 0).metrics
    assert found["margin"].item() == pytest.approx(angles.mean(), abs=1e-5)
    assert found["margin_bin_correlation"].item() == pytest.approx(
        np.corrcoef(angles, [0.11, 0.52, 0.47])[0, 1], abs=1e-5
    )
    assert correlation(torch.ones(3), torch.arange(3.0)) == 0
