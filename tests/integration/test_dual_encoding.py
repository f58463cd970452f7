"""A dual encoder from described videos to figures: ingest, concepts, training, resumption, evaluation."""

import json
import shutil
from pathlib import Path

import pytest

from pipelines.evaluate.evaluation_flags import EvaluateFlags
from pipelines.evaluate.retrieval import evaluate
from pipelines.train.command import TrainFlags, resume, train
from tests.drills.runs import assert_equal_weights, cut_short, losses
from vtr_core.config.override import override
from vtr_core.errors import CheckpointError, ConfigError, DatasetError
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
        "optimizer.plateau_patience": 1,
        "optimizer.plateau_decay": 0.5,
        "scaling.workers": workers,
    }
    return override(preset("hybrid-msrvtt-tiny"), {**small, **changes})


@pytest.fixture(scope="module")
def trained(described: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("runs") / "trained"
    train(config(), TrainFlags(data=str(described), out=str(out), experiment="dual"))
    return out


@pytest.mark.long
def test_training_lowers_the_loss_and_finds_videos(trained: Path, described: Path) -> None:
    found = losses(trained)
    assert len(found) == EPOCHS * STEPS_PER_EPOCH
    assert sum(found[-10:]) < 0.9 * sum(found[:10])
    (result,) = evaluate(EvaluateFlags(checkpoint=str(trained), data=(str(described / "test"),)))
    assert [variant.similarity for variant in result.variants] == ["hybrid", "latent", "concept"]
    for variant in result.variants:
        for direction in variant.directions:
            assert direction.metrics.recall[10] > 1.5 * direction.chance.recall[10]


@pytest.mark.long
def test_a_run_goes_on_bit_for_bit(trained: Path, tmp_path: Path) -> None:
    """Plateaus, which lower the learning rate, and batch normalisation's averages included."""
    cut = cut_short(trained, tmp_path / "cut", kept=3)
    resume(str(cut))
    last = EPOCHS * STEPS_PER_EPOCH
    assert_equal_weights(trained, cut, last)
    progress = [
        json.loads((run / "checkpoints" / f"step-{last:08d}" / "progress.json").read_text()) for run in (trained, cut)
    ]
    assert progress[0] == progress[1]


def test_what_does_not_go_together_is_said_before_anything_starts(described: Path, tmp_path: Path) -> None:
    flags = TrainFlags(data=str(described / "train"), out=str(tmp_path / "x"))
    shutil.copytree(described / "train", tmp_path / "alone")  # no concept table in it or beside it
    with pytest.raises(DatasetError, match="make one with vtr concepts"):
        train(config(), TrainFlags(data=str(tmp_path / "alone"), out=str(tmp_path / "x")))
    with pytest.raises(ConfigError, match=r"batch\.micro_rows with model\.kind = 'hybrid_encoder'"):
        train(config(**{"batch.micro_rows": 8}), flags)
    with pytest.raises(ConfigError, match=r"'hybrid_encoder' and 'dual_triplet' go together"):
        train(config(**{"loss.kind": "info_nce"}), flags)
    with pytest.raises(DatasetError, match="fewer than the 5000"):
        train(config(**{"model.num_concepts": 5000}), TrainFlags(data=str(described), out=str(tmp_path / "x")))
    assert not (tmp_path / "x").exists()


@pytest.mark.long
def test_labels_of_another_table_stop_a_resumed_run(trained: Path, tmp_path: Path) -> None:
    cut = tmp_path / "cut"
    shutil.copytree(trained, cut)
    for checkpoint in sorted((cut / "checkpoints").glob("step-*"))[3:]:
        shutil.rmtree(checkpoint)
    values = json.loads((cut / "config.json").read_text())
    values["model"]["num_concepts"] = 16
    (cut / "config.json").write_text(json.dumps(values))
    with pytest.raises(CheckpointError, match=r"a model of 32 concepts .* labels of 16"):
        resume(str(cut))
