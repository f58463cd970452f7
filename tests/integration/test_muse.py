"""MUSE from described videos to figures: ingest, training, resumption, workers, evaluation."""

import json
from pathlib import Path

import pytest

from pipelines.evaluate.evaluation_flags import EvaluateFlags
from pipelines.evaluate.retrieval import evaluate
from pipelines.train.command import TrainFlags, resume, train
from tests.builders.token_videos import token_videos
from tests.drills.runs import assert_equal_weights, cut_short, losses
from tests.systems.muse.test_task import small
from vtr_core.config.override import override
from vtr_core.errors import ConfigError, SchemaMismatch
from vtr_core.run.config import TrainConfig
from vtr_core.run.presets import preset

pytestmark = pytest.mark.integration
EPOCHS, STEPS_PER_EPOCH = 6, 10


def config(workers: int = 0, **changes: object) -> TrainConfig:
    small = {
        "batch.videos": 32,
        "batch.clips_per_video": 2,
        "training.epochs": EPOCHS,
        "training.log_every": 1,
        "training.validate_every": 1,
        "training.keep_checkpoints": EPOCHS,
        "optimizer.learner_factor": 3.0,
        "scaling.workers": workers,
    }
    return override(preset("muse-msrvtt-tiny"), {**small, **changes})


@pytest.fixture(scope="module")
def trained(described: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("runs") / "trained"
    train(config(), TrainFlags(data=str(described), out=str(out), experiment="muse"))
    return out


@pytest.mark.long
def test_training_lowers_the_loss_and_finds_videos(trained: Path, described: Path) -> None:
    found = losses(trained)
    assert len(found) == EPOCHS * STEPS_PER_EPOCH
    assert sum(found[-10:]) < 0.9 * sum(found[:10])
    (result,) = evaluate(EvaluateFlags(checkpoint=str(trained), data=(str(described / "test"),)))
    assert [direction.name for direction in result.directions] == ["t2v", "v2t"]
    for direction in result.directions:
        assert direction.metrics.recall[10] > 1.5 * direction.chance.recall[10]


@pytest.mark.long
def test_a_run_goes_on_bit_for_bit(trained: Path, tmp_path: Path) -> None:
    cut = cut_short(trained, tmp_path / "cut", kept=3)
    resume(str(cut))
    last = EPOCHS * STEPS_PER_EPOCH
    assert_equal_weights(trained, cut, last)
    progress = [
        json.loads((run / "checkpoints" / f"step-{last:08d}" / "progress.json").read_text()) for run in (trained, cut)
    ]
    assert progress[0] == progress[1]


@pytest.mark.long
def test_tokens_with_patches_and_given_text_vectors_on_two_workers(tmp_path: Path, local_ray: None) -> None:
    """The layout of CLIP's tokens, a pyramid over them, and a row without frames."""
    data = token_videos(tmp_path / "tokens", blind=[6])
    changes = small(**{"training.epochs": 2, "training.log_every": 1, "scaling.workers": 2})
    settings = override(preset("muse-msrvtt"), changes)
    finished = train(settings, TrainFlags(data=data.uri, validation=data.uri, out=str(tmp_path / "run")))
    assert len(losses(tmp_path / "run")) == 4
    (result,) = evaluate(EvaluateFlags(checkpoint=finished.checkpoint, data=(data.uri,)))
    assert result.directions[0].metrics.num_queries == 24


def test_what_does_not_go_together_is_said_before_anything_starts(described: Path, tmp_path: Path) -> None:
    flags = TrainFlags(data=str(described / "train"), out=str(tmp_path / "x"))
    with pytest.raises(ConfigError, match=r"model\.text\.feature = 'text' must be a feature column of 32 values"):
        train(config(**{"model.text.kind": "vectors"}), flags)
    with pytest.raises(ConfigError, match="frames of 32 values are no"):
        train(override(preset("muse-msrvtt"), {"scaling.workers": 1}), flags)
    with pytest.raises(ConfigError, match=r"nothing reads scales = \(1,\) with temporal_scales = \(2, 4, 8\)"):
        train(config(**{"model.learner.kind": "none"}), flags)
    with pytest.raises(ConfigError, match="'muse' takes a loss of one joint space, 'masked_margin_softmax' or"):
        train(config(**{"loss.kind": "dual_triplet"}), flags)
    with pytest.raises(SchemaMismatch, match="this model reads clips/1"):
        train(override(preset("capsule-howto-tiny"), {}), flags)
    assert not (tmp_path / "x").exists()
