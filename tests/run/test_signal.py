"""With fresh weights what differs between rows reaches every output of the capsule network and its baselines."""

import pytest
import torch
from torch import nn

from tests.builders.made_batch import KINDS, FeatureKind, made_signal
from tests.builders.signal import Signal, relative_gradients
from vtr_core.config.override import override
from vtr_core.run.config import TrainConfig
from vtr_core.run.presets import preset

ROUTINGS = ["none", "dynamic", "em", "set-transformer", "self-attention"]


def small(name: str, **changes: object) -> TrainConfig:
    """A preset of the capsule network, or of a baseline, with less to compute."""
    return override(preset(name), {"model.embedding_dim": 256, "model.words.hidden_dim": 256, **changes})


@pytest.mark.parametrize("kind", KINDS)
def test_a_signal_arrives_in_capsules(kind: FeatureKind) -> None:
    assert made_signal(small("capsule-howto"), kind).faults() == []


@pytest.mark.parametrize("routing", ROUTINGS)
def test_with_any_routing(routing: str) -> None:
    config = small(f"capsule-howto-routing-{routing}", **{"model.num_capsules": 16})
    assert made_signal(config, "unit").faults() == []


@pytest.mark.parametrize("name", ["fully-connected", "self-attention", "not-shared", "mil-nce", "avlnet"])
def test_in_the_baselines(name: str) -> None:
    assert made_signal(small(f"capsule-howto-{name}"), "unit").faults() == []


def test_torchs_own_weights_lose_it() -> None:
    signal = made_signal(small("capsule-howto-published"), "unit")
    assert signal.shares["video"] < 0.3
    assert any(fault.startswith("video: share") for fault in signal.faults())


def test_what_is_out_of_bounds_is_named() -> None:
    signal = Signal({"text": 0.1, "video": 0.5}, {"text_video": 9.0}, {"head": 1e-3, "body": 1.0}, False)
    assert signal.faults() == [
        "text: share 0.1000",
        "text_video: similarities deviate by 9",
        "head: gradient 0.001 × the median",
    ]


def test_gradients_are_relative_to_the_median_layer() -> None:
    layers = nn.Sequential(nn.Linear(1, 1, bias=False), nn.Linear(1, 1, bias=False), nn.Linear(1, 1, bias=False))
    for layer, size in zip(layers, (1.0, 2.0, 8.0), strict=True):
        layer.weight.grad = torch.full((1, 1), size)
    assert relative_gradients(layers) == {"0": 0.5, "1": 1.0, "2": 4.0}
