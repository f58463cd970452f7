"""What a training says before it starts, and that it refuses what cannot fit."""

from pathlib import Path

import pytest

from pipelines.train.reports import intention, require_memory, state_bytes
from tests.builders.toy import toy_dataset
from vtr_core.config.override import override
from vtr_core.data.manifest import Manifest
from vtr_core.data.plan import Plan
from vtr_core.errors import ConfigError
from vtr_core.run.presets import preset

SHAPES = {"wide": (30, 40), "bias": (40,)}
SMALL = override(
    preset("capsule-howto-tiny"),
    {"batch.videos": 2, "batch.clips_per_video": 3, "scaling.workers": 0, "training.epochs": 4},
)


def test_it_counts_rows_steps_and_weights(tmp_path: Path) -> None:
    toy_dataset(tmp_path / "d")
    data = Manifest.load(str(tmp_path / "d"))
    said = " ".join(intention(SMALL, data, None, Plan(data, SMALL.batch, 0), SHAPES))
    assert "15 rows of 5 videos; no validation" in said
    assert "8, 2 an epoch; 6 rows a step, 2 videos × 3; in this process" in said
    assert "1,240 weights; with" in said
    assert "1,240 weights, 1,200 of them frozen;" in " ".join(
        intention(SMALL, data, None, Plan(data, SMALL.batch, 0), SHAPES, frozen={"wide"})
    )
    assert "so few steps seldom teach much; --training.epochs 100 makes 200" in said
    long = override(SMALL, {"training.epochs": 50})
    assert "so few steps" not in " ".join(intention(long, data, None, Plan(data, long.batch, 0), SHAPES))


def test_more_clips_than_videos_have_are_told(tmp_path: Path) -> None:
    """The videos of the data set have three clips each."""
    toy_dataset(tmp_path / "d")
    data = Manifest.load(str(tmp_path / "d"))

    def said(clips: int) -> str:
        config = override(SMALL, {"batch.clips_per_video": clips})
        return " ".join(intention(config, data, None, Plan(data, config.batch, 0), SHAPES))

    assert "a video has 3.0 clips, and a batch takes 4 of each" in said(4)
    assert "--batch.clips-per-video 3 takes each clip once" in said(4)
    assert "copies" not in said(3)


def test_weights_gradients_and_moments_are_counted() -> None:
    """Four numbers of four bytes for each weight; five with AMSGrad, five with a moving average."""
    assert state_bytes(SMALL, SHAPES) == 1240 * 4 * 4
    assert state_bytes(override(SMALL, {"optimizer.amsgrad": True}), SHAPES) == 1240 * 4 * 5
    assert state_bytes(override(SMALL, {"training.ema_decay": 0.9}), SHAPES) == 1240 * 4 * 5


def test_what_cannot_fit_is_refused_with_the_largest_weight() -> None:
    needed = state_bytes(SMALL, SHAPES)
    require_memory(SMALL, SHAPES, there=needed)
    require_memory(SMALL, SHAPES, {"wide"}, there=needed // 2)
    with pytest.raises(ConfigError, match=r"take 0.0 MB.*largest weight is wide \(30, 40\)"):
        require_memory(SMALL, SHAPES, there=needed - 1)
    require_memory(override(SMALL, {"scaling.workers": 2}), SHAPES, there=1)  # on machines that are not known yet


def test_random_weights_at_a_rate_for_pretrained_ones_are_told(tmp_path: Path) -> None:
    toy_dataset(tmp_path / "d")
    data = Manifest.load(str(tmp_path / "d"))

    def said(init: str | None = None, **changes: object) -> str:
        config = override(preset("clip4clip-msrvtt"), changes)
        return " ".join(intention(config, data, None, Plan(data, SMALL.batch, 0), SHAPES, init=init))

    told = "random weights, at a learning rate of 1e-07, which is for pretrained ones: give --model.backbone.weights"
    assert told in said()
    assert "random weights" not in said(init="runs/other")
    assert "random weights" not in said(**{"model.backbone.weights": "ViT-B-32.safetensors"})
    assert "random weights" not in said(**{"model.backbone.source": "hf:google/siglip2-base-patch16-224"})
    assert "random weights" not in said(**{"optimizer.backbone_factor": 1.0})
