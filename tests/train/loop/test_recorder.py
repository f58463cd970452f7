"""What the first worker writes; a place that cannot be written costs checkpoints, not the run."""

import errno
import json
import time
from pathlib import Path
from typing import Any

import pytest
import torch

from vtr_core import storage
from vtr_core.config.override import override
from vtr_core.errors import RunConflict, TrainingError
from vtr_core.run.presets import preset
from vtr_core.storage import Location
from vtr_core.text.tokens.vocabulary import Vocabulary
from vtr_core.train.checkpoint.files import Checkpoint, Progress
from vtr_core.train.checkpoint.run_folder import RunFolder
from vtr_core.train.fleet.lease import Lease
from vtr_core.train.loop.channel import Channel
from vtr_core.train.loop.recorder import Recorder


class Reports(Channel):
    """A channel that keeps what is reported."""

    def __init__(self) -> None:
        self.kept: list[dict[str, Any]] = []

    def report(self, report: dict[str, Any]) -> None:
        self.kept.append(report)


def checkpoint(step: int) -> Checkpoint:
    config = override(preset("capsule-howto-tiny"), {"training.keep_checkpoints": 2})
    weights = {"weight": torch.full((2,), float(step))}
    return Checkpoint(config, model=weights, optimizer={}, progress=Progress(step=step), vocabulary=Vocabulary(()))


@pytest.fixture
def folder(tmp_path: Path) -> RunFolder:
    return RunFolder.at(str(tmp_path))


def full_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(location: Location, content: bytes) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(storage, "write_bytes", refuse)


def test_a_failed_checkpoint_is_told_and_the_next_one_is_tried(
    folder: RunFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Lease.take(folder.location) as lease:
        reports = Reports()
        recorder = Recorder(folder, lease.number, None, reports, 0)
        recorder.save(checkpoint(1))
        with monkeypatch.context() as patch:
            full_disk(patch)
            recorder.save(checkpoint(2))
        recorder.save(checkpoint(3))
    (told,) = reports.kept
    assert (told["event"], told["step"]) == ("checkpoint_failed", 2)
    assert "No space left on device" in told["reason"]
    names = [place.name for place in storage.children(folder.checkpoints)]
    assert names == ["step-00000001", "step-00000003"]


def test_the_last_checkpoint_must_be_written(folder: RunFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    with Lease.take(folder.location) as lease:
        recorder = Recorder(folder, lease.number, None, Reports(), 0)
        recorder.save(checkpoint(1))
        recorder.save_last(1, lambda: checkpoint(1))
        with monkeypatch.context() as patch:
            full_disk(patch)
            with pytest.raises(
                TrainingError, match=r"of step 2, is lost: .*No space.*good one is .*step-00000001; free"
            ):
                recorder.save_last(2, lambda: checkpoint(2))
        recorder.save_last(2, lambda: checkpoint(2))
    assert (folder.latest() or checkpoint(0)).progress.step == 2


def test_a_worker_of_a_driver_that_was_taken_over_from_writes_nothing(folder: RunFolder) -> None:
    with Lease.take(folder.location) as lease:
        recorder = Recorder(folder, lease.number, None, Reports(), 0)
    with Lease.take(folder.location):
        with pytest.raises(RunConflict, match="taken over by another driver"):
            recorder.save(checkpoint(1))
        with pytest.raises(RunConflict, match="taken over by another driver"):
            Recorder(folder, lease.number, None, Reports(), 0)
    assert folder.latest() is None


def test_the_driver_hears_how_a_group_begins(folder: RunFolder) -> None:
    lines = [json.dumps({"step": step, "time": 0.0, "train/loss": 1.0}) + "\n" for step in range(1, 8)]
    Path((folder.location / "metrics.jsonl").path).write_text("".join(lines))
    with Lease.take(folder.location) as lease:
        for step in (4, 0, 0):
            reports = Reports()
            recorder = Recorder(folder, lease.number, None, reports, step)
            recorder.begin(step, workers=2)
            lost = {4: 3, 0: 4}[step] if reports.kept[0]["event"] == "resumed" else None
            assert reports.kept[0].get("steps_lost") == lost
    assert reports.kept == [{"event": "started", "step": 0, "workers": 2}]


def test_points_say_how_busy_the_machine_is_in_the_log_alone(folder: RunFolder) -> None:
    with Lease.take(folder.location) as lease:
        reports = Reports()
        recorder = Recorder(folder, lease.number, None, reports, 0, system_s=0.01)
        metrics, step = Path((folder.location / "metrics.jsonl").path), 0
        deadline = time.monotonic() + 600
        while not metrics.exists() or "system/cpu_utilization_percentage" not in metrics.read_text():
            assert time.monotonic() < deadline
            recorder.point({"train/loss": 1.0}, step, 10)
            step += 1
            time.sleep(0.01)
        recorder.close()
    assert all(report.keys() == {"train/loss", "step", "total_steps"} for report in reports.kept)
