"""The published settings of every data set."""

import pytest

from vtr_core.run.presets import preset
from vtr_core.systems.clip4clip.config import Clip4ClipConfig

PUBLISHED = {
    "msrvtt": (12, 32, 20),
    "msvd": (12, 32, 41),
    "didemo": (64, 64, 1),
    "activitynet": (64, 64, 1),
}
"""Frames, words, captions of a training video."""


@pytest.mark.parametrize("data_set", PUBLISHED)
@pytest.mark.parametrize("system", ["clip4clip", "muse-clip"])
def test_frames_words_batches_and_passes(system: str, data_set: str) -> None:
    config = preset(f"{system}-{data_set}")
    frames, words, captions = PUBLISHED[data_set]
    assert isinstance(config.model, Clip4ClipConfig)
    assert config.model.frames.kind == ("muse" if system == "muse-clip" else "mean")
    assert (config.batch.max_frames, config.model.inputs.max_words, config.batch.videos) == (frames, words, 128)
    assert (config.training.epochs, config.training.validate_every) == (5 * captions, captions)
    assert config.optimizer.warmup_share == 0.1
    assert config.optimizer.learning_rate * config.optimizer.backbone_factor == pytest.approx(1e-7)
