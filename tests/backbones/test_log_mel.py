"""Log-mel columns equal slow ones, and chunks of sound give what the whole does."""

import numpy as np
import pytest
import torch

from tests.reference.mel import column
from vtr_core.backbones.inputs import LogMel, log_mel
from vtr_core.backbones.recipes import recipe
from vtr_core.video.streams import SoundStream

RATE = 16_000


def _noise(samples: int) -> np.ndarray:
    return np.random.default_rng(0).normal(0, 0.1, samples).astype(np.float32)


def test_columns_are_those_of_slow_code() -> None:
    samples = _noise(1000)
    columns = log_mel(torch.from_numpy(samples)).numpy()
    assert columns.shape == (40, 7)
    for index in (0, 3, 6):
        assert columns[:, index] == pytest.approx(column(samples, 160 * index), abs=2e-3)


@pytest.mark.parametrize(("samples", "rows"), [(0, 0), (7_999, 0), (8_001, 1), (24_000, 1), (24_001, 2), (40_000, 2)])
def test_a_second_counts_when_its_middle_is_there(samples: int, rows: int) -> None:
    assert LogMel("cpu")(_noise(samples)).shape == (rows, 80)


def test_chunks_with_their_overlap_give_what_the_whole_does() -> None:
    """Apart from each chunk's first sample, which has none before it to be emphasised against."""
    stream = recipe("log-mel").stream
    assert isinstance(stream, SoundStream)
    samples = _noise(62 * RATE)
    first = LogMel("cpu")(samples[: stream.chunk + stream.overlap])
    second = LogMel("cpu")(samples[stream.chunk :])
    assert (len(first), len(second)) == (60, 2)
    seconds = log_mel(torch.from_numpy(samples)).unflatten(1, (62, 100))
    means = seconds.mean(dim=2).T.numpy()
    assert np.concatenate([first, second])[:, :40] == pytest.approx(means, abs=0.05)
    assert first[:, :40] == pytest.approx(means[:60], abs=1e-3)
