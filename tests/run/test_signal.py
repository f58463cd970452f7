"""With fresh weights what differs between rows reaches every output of the capsule network and its baselines."""

import pytest

from tests.builders.made_batch import KINDS, FeatureKind, made_signal
from vtr_core.config.override import override
from vtr_core.run.config import TrainConfig
from vtr_core.run.presets import preset


def small(name: str, **changes: object) -> TrainConfig:
    """A preset of the capsule network, or of a baseline, with less to compute."""
    return override(preset(name), {"model.embedding_dim": 256, "model.words.hidden_dim": 256, **changes})


@pytest.mark.parametrize("kind", KINDS)
def test_a_signal_arrives_in_capsules(kind: FeatureKind) -> None:
    assert made_signal(small("capsule-howto"), kind).faults() == []


def test_torchs_own_weights_lose_it() -> None:
    signal = made_signal(small("capsule-howto-published"), "unit")
    assert signal.shares["video"] < 0.3
    assert any(fault.startswith("video: share") for fault in signal.faults())
