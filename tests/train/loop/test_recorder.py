"""What the first worker writes; a place that cannot be written costs checkpoints, not the run."""

import errno
import json
import multiprocessing
import threading
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, BinaryIO

import pytest
import torch

from vtr_core import storage
from vtr_core.config.override import override
from vtr_core.errors import RunConflict, TrainingError
from vtr_core.run.presets import preset
from vtr_core.storage import Location
from vtr_core.systems.all import SYSTEMS
from vtr_core.text.tokens.vocabulary import Vocabulary
from vtr_core.train.checkpoint.checkpoint_files import Checkpoint, Progress
from vtr_core.train.checkpoint.run_folder import RunFolder
from vtr_core.train.fleet.lease import Lease
from vtr_core.train.fleet.worker_group import Channel
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
    def refuse(location: Location) -> AbstractContextManager[BinaryIO]:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(storage, "open_for_writing", refuse)


def test_a_failed_checkpoint_is_told_and_the_next_one_is_tried(
    folder: RunFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Lease.take(folder.location) as lease:
        reports = Reports()
        recorder = Recorder(folder, lease.number, None, reports, 0)
        recorder.save(checkpoint(1))
        recorder.finish_writing()
        with monkeypatch.context() as patch:
            full_disk(patch)
            recorder.save(checkpoint(2))
            assert "No space left" in recorder.finish_writing()
        recorder.save(checkpoint(3))
        assert recorder.finish_writing() == ""
    (told,) = reports.kept
    assert (told["event"], told["step"]) == ("checkpoint_failed", 2)
    assert "No space left on device" in told["reason"]
    names = [place.name for place in storage.children(folder.checkpoints)]
    assert names == ["step-00000001", "step-00000003"]


class Gate:
    """`storage.open_for_writing` that waits in front of a checkpoint's `model.safetensors`."""

    def __init__(self, open_it: Callable[[Location], AbstractContextManager[BinaryIO]]) -> None:
        self._open, self.reached, self.opened = open_it, threading.Event(), threading.Event()

    def __call__(self, location: Location) -> AbstractContextManager[BinaryIO]:
        if location.name == "model.safetensors":
            self.reached.set()
            assert self.opened.wait(600)
        return self._open(location)


def test_training_goes_on_while_a_checkpoint_is_written_and_does_not_change_it(
    folder: RunFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    gate = Gate(storage.open_for_writing)
    monkeypatch.setattr(storage, "open_for_writing", gate)
    with Lease.take(folder.location) as lease:
        recorder = Recorder(folder, lease.number, None, Reports(), 0)
        saved = checkpoint(1)
        saved.optimizer["state"] = {0: {"exp_avg": torch.ones(3)}}
        recorder.save(saved)
        assert gate.reached.wait(600)
        saved.model["weight"].fill_(99.0)
        saved.optimizer["state"][0]["exp_avg"].fill_(99.0)
        recorder.point({"train/loss": 1.0}, 2, 10)
        assert folder.latest(SYSTEMS) is None
        gate.opened.set()
        assert recorder.finish_writing() == ""
        recorder.close()
    found = folder.latest(SYSTEMS)
    assert found is not None
    assert found.model["weight"].tolist() == [1.0, 1.0]
    assert found.optimizer["state"][0]["exp_avg"].tolist() == [1.0, 1.0, 1.0]


def _write_two(uri: str) -> None:
    """The first checkpoint to its end, the second up to its weights."""
    folder = RunFolder.at(uri)
    with Lease.take(folder.location) as lease:
        recorder = Recorder(folder, lease.number, None, Reports(), 0)
        recorder.save(checkpoint(1))
        recorder.finish_writing()
        gate = Gate(storage.open_for_writing)
        storage.open_for_writing = gate  # type: ignore[assignment]
        recorder.save(checkpoint(2))
        gate.reached.wait()
        Path((folder.location / "writing").path).touch()
        gate.opened.wait()


def test_a_worker_killed_in_the_middle_of_writing_leaves_the_last_good_one(folder: RunFolder) -> None:
    worker = multiprocessing.get_context("forkserver").Process(target=_write_two, args=(folder.location.uri,))
    worker.start()
    mark = Path((folder.location / "writing").path)
    while not mark.exists():
        assert worker.is_alive()
        time.sleep(0.01)
    worker.kill()
    worker.join()
    begun = folder.checkpoint_at(2)
    assert storage.exists(begun / "config.json")
    found = folder.latest(SYSTEMS)
    assert found is not None
    assert found.model["weight"].tolist() == [1.0, 1.0]
    with Lease.take(folder.location) as lease:
        Recorder(folder, lease.number, None, Reports(), 1).close()
    assert not storage.exists(begun / "config.json")
    assert folder.latest(SYSTEMS) is not None


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
        recorder.close()
    assert (folder.latest(SYSTEMS) or checkpoint(0)).progress.step == 2


def test_a_worker_of_a_driver_that_was_taken_over_from_writes_nothing(folder: RunFolder) -> None:
    with Lease.take(folder.location) as lease:
        recorder = Recorder(folder, lease.number, None, Reports(), 0)
    with Lease.take(folder.location):
        with pytest.raises(RunConflict, match="taken over by another driver"):
            recorder.save(checkpoint(1))
        with pytest.raises(RunConflict, match="taken over by another driver"):
            Recorder(folder, lease.number, None, Reports(), 0)
    assert folder.latest(SYSTEMS) is None


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
