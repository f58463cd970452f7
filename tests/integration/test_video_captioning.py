"""A captioner with its backbone, from video files: frames, training, resumption, workers, evaluation, captions."""

from pathlib import Path

import pytest
import torch

from pipelines.cli import run
from pipelines.train.command import TrainFlags, resume, train
from tests.drills.runs import assert_equal_weights, cut_short, losses, weights
from tests.integration.conftest import NUM_FILMS
from vtr_core.config.override import override
from vtr_core.run.config import TrainConfig
from vtr_core.run.presets import preset

pytestmark = pytest.mark.integration
STEPS = 8


def config(workers: int = 0, **changes: object) -> TrainConfig:
    small = {
        "batch.videos": 16,
        "training.epochs": STEPS * 16 // NUM_FILMS,
        "training.log_every": 1,
        "training.keep_checkpoints": STEPS,
        "training.validate_every": 1,
        "model.random_crop": True,
        "model.dropout": 0.0,
        "loss.granularity_margin.reading": "idf",  # a film has one caption
        "optimizer.warmup_steps": 0,
        "optimizer.backbone_factor": 0.5,
        "optimizer.layer_decay": 0.9,
        "scaling.workers": workers,
    }
    return override(preset("caption-swin-tiny"), {**small, **changes})


@pytest.mark.long
def test_it_is_trained_resumed_evaluated_and_describes(
    films: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "run"
    finished = train(config(), TrainFlags(data=str(films), validation=str(films), out=str(out)))
    found = losses(out)
    assert len(found) == STEPS
    assert sum(found[-3:]) < sum(found[:3])
    cut = cut_short(out, tmp_path / "cut", kept=2)
    resume(str(cut))
    assert_equal_weights(out, cut, STEPS)
    before, after = weights(out, 2), weights(out, STEPS)
    changed = {name.split(".")[0] for name in before if not torch.equal(before[name], after[name])}
    assert {"backbone", "frames", "words", "blocks", "grid"} <= changed

    run("evaluate", [finished.checkpoint, "--task", "captioning", "--data", str(films), "--no-meteor"])
    run("caption", [finished.checkpoint, "--data", str(films), "--out", str(tmp_path / "captions")])
    said = capsys.readouterr().out
    assert "CIDEr" in said
    assert len((tmp_path / "captions" / "captions.jsonl").read_text().splitlines()) == NUM_FILMS


@pytest.mark.long
def test_a_frozen_backbone_trains_the_captioner_alone(films: Path, tmp_path: Path) -> None:
    train(
        config(**{"model.backbone.freeze": "all", "model.backbone.recompute": True}),
        TrainFlags(data=str(films), out=str(tmp_path / "run")),
    )
    before, after = weights(tmp_path / "run", 2), weights(tmp_path / "run", STEPS)
    changed = {name.split(".")[0] for name in before if not torch.equal(before[name], after[name])}
    assert "backbone" not in changed
    assert "blocks" in changed
