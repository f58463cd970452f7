"""What a training says before it starts, of its steps and events; it refuses what cannot fit."""

from itertools import count
from pathlib import Path
from typing import Any

import pytest

from pipelines.train.reports import TimeLeft, counts_line, event_line, intention, require_memory, state_bytes
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


@pytest.fixture
def data(tmp_path: Path) -> Manifest:
    return toy_dataset(tmp_path / "d")[0]


def test_it_counts_rows_steps_and_weights(data: Manifest) -> None:
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


def test_more_clips_than_videos_have_are_told(data: Manifest) -> None:
    """The videos of the data set have three clips each."""

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


def test_random_weights_at_a_rate_for_pretrained_ones_are_told(data: Manifest) -> None:

    def said(init: str | None = None, **changes: object) -> str:
        config = override(preset("clip4clip-msrvtt"), changes)
        return " ".join(intention(config, data, None, Plan(data, SMALL.batch, 0), SHAPES, init=init))

    told = "random weights, at a learning rate of 1e-07, which is for pretrained ones: give --model.backbone.weights"
    assert told in said()
    assert "random weights" not in said(init="runs/other")
    assert "random weights" not in said(**{"model.backbone.weights": "ViT-B-32.safetensors"})
    assert "random weights" not in said(**{"model.backbone.source": "hf:google/siglip2-base-patch16-224"})
    assert "random weights" not in said(**{"optimizer.backbone_factor": 1.0})


def test_the_first_steps_say_how_long_it_takes(capsys: pytest.CaptureFixture[str]) -> None:
    """Steps of ten seconds each, from the first report on; what a restart does again is not counted twice."""
    clock = count(0.0, 10.0)
    taken: list[dict[str, Any]] = []
    steps = [{"step": step, "total_steps": 1000} for step in (100, 101, 102)]
    with TimeLeft(lambda: next(clock)) as left:
        watched = left.watching(taken.append)
        for report in ({"event": "started"}, *steps, {"event": "restarted"}, *steps[:2]):
            watched(report)
    assert taken == [{"event": "started"}, *steps, {"event": "restarted"}, *steps[:2]]
    said = capsys.readouterr().out.splitlines()
    assert said == ["  101 of 1,000 steps; 0.1 a second; 2.5 h left"] * 2


LINES = [
    ("started", {"step": 0, "workers": 1}, "started with 1 worker"),
    ("resumed", {"step": 12, "steps_lost": 3, "workers": 2}, "resumed at step 12 with 2 workers, 3 steps done again"),
    ("resumed", {"step": 12, "steps_lost": 0, "workers": 2}, "resumed at step 12 with 2 workers, no step done again"),
    ("restarted", {"reason": "r", "restarts_left": 1}, "starting again from the newest checkpoint: r (1 restart left)"),
    ("restarted", {"reason": "r", "workers": 2}, "starting again from the newest checkpoint: r"),
    (
        "not_finite",
        {"step": 3, "places": ["p"], "clips": ["c", "d"]},
        "step 3 skipped, its loss or gradient was not finite; it holds c, d",
    ),
    (
        "not_finite",
        {"step": 3, "places": ["p"], "clips": []},
        "step 3 skipped, its loss or gradient was not finite; it holds p",
    ),
    ("checkpoint_failed", {"step": 4, "reason": "full"}, "no checkpoint at step 4: full"),
    ("preempted", {"step": 4}, "preempted: ended at step 4, with a checkpoint"),
    ("bad_shard", {"file": "f", "row_group": 1, "reason": "r"}, "rows replaced in every batch: r"),
    ("waiting", {"workers": 2, "each": {"CPU": 1.0}}, "waiting for nodes with room for 2 workers"),
    ("scan", {"backend": "reference", "reason": "as configured"}, "selective scans by the reference: as configured"),
    ("worker_lost", {"reason": "r"}, "a worker was lost: r"),
    ("collapsed", {"step": 20, "what": "all is alike", "cause": "a high rate"}, "step 20: all is alike; a high rate"),
    (
        "at_chance",
        {"step": 70, "loss": 8.31, "chance": 8.318},
        "step 70: the loss, 8.31, is that of vectors which are all alike (8.318): nothing is learned",
    ),
    (
        "finished",
        {"step": 90, "at_chance": 8.3, "loss": 8.31},
        "finished at step 90; the loss, 8.31, is that of vectors which are all alike (8.3): nothing is learned",
    ),
    (
        "finished",
        {"step": 90, "at_chance": 8.3, "loss": 83.2},
        "finished at step 90; the loss, 83.2, is above that of vectors which are all alike (8.3): similarities are too "
        "far apart; go by the validation, and train longer",
    ),
    ("finished", {"step": 90, "at_chance": None, "loss": 2.0}, "finished at step 90"),
    ("something_else", {"a": 1, "b": "x"}, "something else, a 1, b x"),
]


@pytest.mark.parametrize(("event", "details", "line"), LINES)
def test_an_event_is_a_line(event: str, details: dict[str, object], line: str) -> None:
    assert event_line(event, details) == line


def test_faults_are_counted() -> None:
    assert counts_line({"started": 1, "not_finite": 2, "restarted": 1}) == "1 restarts, 2 skipped steps"
    assert counts_line({"started": 1, "finished": 1}) == ""
