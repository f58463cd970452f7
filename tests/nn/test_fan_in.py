"""Stated initial weights are those of torch, bit for bit, and no layer of a model is left to torch."""

from collections.abc import Callable

import pytest
import torch
from torch import nn

from vtr_core.config.override import override
from vtr_core.nn.initialization import (
    bidirectional_gru,
    embedding,
    fan_in_convolution,
    fan_in_convolution_2d,
    fan_in_linear,
)
from vtr_core.run.build import build_model
from vtr_core.run.presets import preset

SIAMESE = ("", "-drop-caps", "-reconstruction", "-lenet", "-alexnet", "-resnet-34", "-inception-v3")


@pytest.mark.parametrize(
    ("stated", "torchs"),
    [
        (lambda: fan_in_linear(7, 5), lambda: nn.Linear(7, 5)),
        (lambda: fan_in_convolution(6, 4, 3, 2), lambda: nn.Conv1d(6, 4, 3, padding=2)),
        (lambda: fan_in_convolution_2d(3, 4, 5, 2, 1), lambda: nn.Conv2d(3, 4, 5, 2, 1)),
        (lambda: bidirectional_gru(5, 3), lambda: nn.GRU(5, 3, batch_first=True, bidirectional=True)),
        (lambda: embedding(9, 4, 0), lambda: nn.Embedding(9, 4, padding_idx=0)),
    ],
)
def test_a_seed_gives_the_weights_of_torch(stated: Callable[[], nn.Module], torchs: Callable[[], nn.Module]) -> None:
    models, after = [], []
    for make in (stated, torchs):
        torch.manual_seed(3)
        models.append(make())
        after.append(torch.rand(1))
    assert str(models[0]) == str(models[1])
    for (name, one), (other_name, other) in zip(*(model.named_parameters() for model in models), strict=True):
        assert name == other_name
        torch.testing.assert_close(one, other, rtol=0, atol=0)
    assert after[0] == after[1]


@pytest.mark.parametrize(
    ("name", "changes"),
    [
        ("hybrid-msrvtt-tiny", {"model.inputs": {"features": {"video": 3}, "num_words": 5, "word_dim": 4}}),
        ("hybrid-msrvtt-tiny-published", {"model.inputs": {"features": {"video": 3}, "num_words": 5, "word_dim": 4}}),
        ("caption-msrvtt-tiny", {"model.inputs": {"features": {"video": 3}, "num_words": 5, "word_dim": 4}}),
        *((f"siamese-att-tiny{variant}", {}) for variant in SIAMESE),
    ],
)
def test_no_layer_is_left_to_torch(name: str, changes: dict[str, object], monkeypatch: pytest.MonkeyPatch) -> None:
    """With a torch whose layers start as NaN, all weights are numbers."""

    def spoil(layer: nn.Module) -> None:
        for values in layer.parameters(recurse=False):
            nn.init.constant_(values, torch.nan)

    for kind in (nn.Linear, nn.Conv1d, nn.Conv2d, nn.GRU, nn.Embedding):
        monkeypatch.setattr(kind, "reset_parameters", spoil)
    model = build_model(override(preset(name), changes).model)
    left = [name for name, values in model.named_parameters() if not torch.isfinite(values).all()]
    assert not left
    assert any(torch.isnan(values).any() for values in nn.Linear(2, 2).parameters())
