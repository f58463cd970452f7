"""Encoders of other projects trained on frames: what is frozen, on workers, in half precision; then without source."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from pipelines.cli import run
from pipelines.train.command import TrainFlags, resume, train
from tests.builders.pretrained import save_clip, save_siglip2
from tests.crossing.worlds import TRAINED
from tests.drills.runs import assert_equal_weights, cut_short, losses, weights
from vtr_core.config.override import override
from vtr_core.run.config import TrainConfig
from vtr_core.run.presets import preset

pytestmark = pytest.mark.integration
STEPS = 8


def config(name: str = "muse-clip-tiny", workers: int = 0, **changes: object) -> TrainConfig:
    small = {
        "batch.videos": 16,
        "training.epochs": STEPS * 16 // TRAINED,
        "training.log_every": 1,
        "training.keep_checkpoints": STEPS,
        "training.validate_every": 1,
        "model.random_crop": True,
        "optimizer.backbone_factor": 0.5,
        "optimizer.layer_decay": 0.9,
        "optimizer.algorithm": "bert_adam",
        "optimizer.schedule": "bert_cosine",
        "optimizer.parameter_clip": 1.0,
        "optimizer.warmup_steps": 0,
        "optimizer.warmup_share": 0.1,
        "scaling.workers": workers,
    }
    return override(preset(name), {**small, **changes})


@pytest.fixture(scope="module")
def films(worlds: Callable[[str], Path]) -> Path:
    return worlds("frames") / "train"


SOURCES: dict[str, tuple[str, Callable[[Path], object], dict[str, object]]] = {
    "clip": ("clip4clip-tiny-seq-transf", save_clip, {"model.frames.heads": 2, "model.backbone.recompute": True}),
    "siglip2": ("muse-clip-tiny", save_siglip2, {"model.frames.scales": (1, 2, 3)}),
}


def of_source(kind: str, folder: Path, workers: int = 0, **changes: object) -> TrainConfig:
    """A training of a pretrained encoder, whose first layer is frozen."""
    name, save, own = SOURCES[kind]
    save(folder)
    source = {"model.backbone.source": f"hf:{folder}", "model.backbone.freeze": 1, "model.random_crop": False}
    return config(name, workers, **{**source, **own, **changes})


@pytest.mark.long
@pytest.mark.parametrize("kind", SOURCES)
def test_a_pretrained_encoder_is_trained_and_then_needs_no_source(
    kind: str, films: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "run"
    begins = of_source(kind, tmp_path / "source", **{"optimizer.learning_rate": 3e-3})
    finished = train(begins, TrainFlags(data=str(films), validation=str(films), out=str(out)))
    found = losses(out)
    assert sum(found[-3:]) < sum(found[:3])
    before, after = weights(out, 2), weights(out, STEPS)
    still = {name for name in before if torch.equal(before[name], after[name])}
    first = {name for name in before if (".layers.0." in name and name.startswith("clip.")) or ".embeddings." in name}
    assert still - {"clip.model.vision_model.pre_layrnorm.weight", "clip.model.vision_model.pre_layrnorm.bias"} == {
        *first,
        "clip.tokenizer",
    }

    shutil.rmtree(tmp_path / "source")
    cut = cut_short(out, tmp_path / "cut", kept=2)
    resume(str(cut))
    assert_equal_weights(out, cut, STEPS)
    run("evaluate", [finished.checkpoint, "--data", str(films)])
    run("index", [finished.checkpoint, "--data", str(films), "--out", str(tmp_path / "index")])
    run("search", ["a dog in the garden", "--index", str(tmp_path / "index"), "--k", "2"])
    printed = capsys.readouterr().out
    assert f"all of {TRAINED}" in printed
    assert "0:00–0:03" in printed


@pytest.mark.long
def test_two_workers_train_a_source_as_the_process_itself_does(films: Path, tmp_path: Path, local_ray: None) -> None:
    for workers in (0, 2):
        again = of_source("clip", tmp_path / "source", workers, **{"model.backbone.freeze": 0})
        train(again, TrainFlags(data=str(films), out=str(tmp_path / str(workers))))
    assert losses(tmp_path / "2") == pytest.approx(losses(tmp_path / "0"), rel=2e-4)
    one, two = weights(tmp_path / "0", STEPS), weights(tmp_path / "2", STEPS)
    for name, value in one.items():
        assert torch.allclose(value.float(), two[name].float(), atol=1e-4), name


@pytest.mark.long
def test_half_precision_trains_a_source(films: Path, tmp_path: Path) -> None:
    begins = of_source("siglip2", tmp_path / "source", **{"training.precision": "bf16"})
    train(begins, TrainFlags(data=str(films), out=str(tmp_path / "half")))
    train(override(begins, {"training.precision": "float32"}), TrainFlags(data=str(films), out=str(tmp_path / "whole")))
    half, whole = losses(tmp_path / "half"), losses(tmp_path / "whole")
    assert half == pytest.approx(whole, rel=0.05)
    assert half != whole
