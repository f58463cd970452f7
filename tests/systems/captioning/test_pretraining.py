"""A captioner that has read captions alone is what another begins with."""

from pathlib import Path

import pytest

from tests.builders.captioned import captioned_videos
from vtr_core.config.override import override
from vtr_core.data.shards.word_table import WordTable
from vtr_core.errors import ConfigError
from vtr_core.run.build import build_model
from vtr_core.run.config import TrainConfig
from vtr_core.run.inputs import check_parts, with_inputs
from vtr_core.run.presets import preset
from vtr_core.storage import locate
from vtr_core.systems.captioning.config import CaptionerConfig, CaptioningLossConfig
from vtr_core.train.checkpoint import load_model
from vtr_core.train.checkpoint.checkpoint_files import Checkpoint, Progress, save_checkpoint
from vtr_core.train.loop.learner import fitting

SMALL = {"model.hidden_dim": 8, "model.layers": 1, "model.heads": 2, "model.mlp_dim": 16}


@pytest.mark.parametrize("size", ["", "-tiny"])
def test_everything_but_the_statistics_of_frames_is_taken(size: str, tmp_path: Path) -> None:
    data = captioned_videos(tmp_path / "data", {"v1": ["a dog runs"], "v2": ["a zebra", "a dog"]})
    words = WordTable.load(data).vocabulary

    def config(name: str) -> TrainConfig:
        return with_inputs(override(preset(f"{name}{size}"), SMALL), data)

    trained = config("caption-pretrain")
    assert isinstance(trained.loss, CaptioningLossConfig)
    assert not trained.loss.contrasts
    weights = build_model(trained.model).state_dict()
    checkpoint = Checkpoint(
        config=trained, model=weights, optimizer={}, progress=Progress(), vocabulary=words, provenance={}
    )
    save_checkpoint(locate(str(tmp_path / "c")), checkpoint)
    found = fitting(config("caption-msrvtt"), words, None, load_model(str(tmp_path / "c")))
    assert set(found.taken) == set(weights)
    assert all(name.startswith("standardization.") for name in found.refused)


def test_msvd_has_its_own_warm_up() -> None:
    loss, other = preset("caption-msvd").loss, preset("caption-msrvtt").loss
    assert isinstance(loss, CaptioningLossConfig)
    assert isinstance(other, CaptioningLossConfig)
    assert loss.granularity_margin is not None
    assert loss.granularity_margin.warmup_steps == 6000
    assert loss.score == other.score
    assert loss.score.score == "fusion"


def test_rows_of_places_are_whole_frames() -> None:
    config = preset("caption-msrvtt-spatial")
    assert isinstance(config.model, CaptionerConfig)
    assert config.batch.max_frames == 16 * config.model.grid**2 if config.model.grid else False
    check_parts(config)
    with pytest.raises(ConfigError, match=r"max_frames = 64 rows are no whole frames .* multiple of 49, 784 for 16"):
        check_parts(override(config, {"batch.max_frames": 64}))
