"""Event files, read back by TensorBoard's own reader."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.tracking.also.pages import lines, page
from vtr_core.tracking.other_trackers import open_tracker


def test_points_have_their_steps_values_and_times(tmp_path: Path, event_files: Callable[[Path], Any]) -> None:
    files = open_tracker("tensorboard", page(tmp_path))
    for line in lines(1, 2, 4):
        files.log(line)
    files.finish("FINISHED")
    found = event_files(tmp_path / "tensorboard")
    assert found.Tags()["scalars"] == ["train/loss", "train/data_wait"]
    assert [(one.step, one.value, one.wall_time) for one in found.Scalars("train/loss")] == [
        (1, 1.0, 1001.0),
        (2, 0.5, 1002.0),
        (4, 0.25, 1004.0),
    ]
    (run,) = found.Tensors("run/text_summary")
    (text,) = run.tensor_proto.string_val
    assert b"Training of `tiny`." in text
    assert b'"batch.videos": 8' in text
    assert b"secret" not in text
    (status,) = found.Tensors("status/text_summary")
    assert status.tensor_proto.string_val == [b"FINISHED"]


def test_a_resumed_run_has_every_point_once(tmp_path: Path, event_files: Callable[[Path], Any]) -> None:
    for steps in ((1, 2), (1, 2, 3)):
        files = open_tracker("tensorboard", page(tmp_path))
        for line in lines(*steps):
            files.log(line)
        files.finish("FINISHED")
    assert [one.step for one in event_files(tmp_path / "tensorboard").Scalars("train/loss")] == [1, 2, 3]
