"""The captioner from described videos to captions: ingest, training, resumption, figures, captions."""

from pathlib import Path

import pytest

from pipelines.caption import CaptionFlags, caption
from pipelines.systems.captioning.caption_metrics import evaluate
from pipelines.systems.captioning.evaluate_captions import CaptioningFlags
from pipelines.train.command import TrainFlags, resume, train
from tests.drills.runs import assert_equal_weights, cut_short, losses
from vtr_core.config.override import override
from vtr_core.errors import ConfigError
from vtr_core.run.config import TrainConfig
from vtr_core.run.presets import preset

pytestmark = pytest.mark.integration
EPOCHS, STEPS_PER_EPOCH = 8, 10


def config(**changes: object) -> TrainConfig:
    small = {
        "model.hidden_dim": 64,
        "model.mlp_dim": 128,
        "model.decoding.beams": 2,
        "batch.videos": 32,
        "loss.granularity_margin.warmup_steps": 40,
        "loss.score.weight": 0.2,
        "optimizer.learning_rate": 3e-3,
        "training.epochs": EPOCHS,
        "training.log_every": 1,
        "training.validate_every": 4,
        "training.keep_checkpoints": EPOCHS,
        "scaling.workers": 0,
    }
    return override(preset("caption-msrvtt-tiny"), {**small, **changes})


@pytest.fixture(scope="module")
def trained(described: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("runs") / "trained"
    finished = train(config(), TrainFlags(data=str(described), out=str(out), experiment="captions"))
    assert finished.task == "captioning"
    return out


@pytest.mark.long
def test_training_lowers_the_loss_and_captions_beat_a_fixed_one(trained: Path, described: Path) -> None:
    assert len(losses(trained)) == EPOCHS * STEPS_PER_EPOCH
    (result,) = evaluate(CaptioningFlags(str(trained), (str(described / "test"),), meteor=False))
    assert result.figures.num_items == len(result.videos.hypotheses)
    assert result.figures.bleu[1] > 0.2
    assert all(text for text in result.videos.hypotheses.values())


@pytest.mark.long
def test_captions_are_written(trained: Path, described: Path, tmp_path: Path) -> None:
    videos = caption(CaptionFlags(str(trained), str(described / "test"), str(tmp_path / "out")))
    lines = (tmp_path / "out" / "captions.jsonl").read_text().splitlines()
    assert len(lines) == len(videos.hypotheses)


@pytest.mark.long
def test_a_run_goes_on_bit_for_bit(trained: Path, tmp_path: Path) -> None:
    """From a checkpoint of the warm-up into the margin: the extractor's state is part of it."""
    cut = cut_short(trained, tmp_path / "cut", kept=1)
    resume(str(cut))
    assert_equal_weights(trained, cut, EPOCHS * STEPS_PER_EPOCH)


def test_what_does_not_go_together_is_said_before_anything_starts(described: Path, tmp_path: Path) -> None:
    flags = TrainFlags(data=str(described / "train"), out=str(tmp_path / "x"))
    with pytest.raises(ConfigError, match="'captioner' and 'captioning' go together"):
        train(override(preset("caption-msrvtt-tiny"), {"loss.kind": "info_nce"}), flags)
    assert not (tmp_path / "x").exists()
