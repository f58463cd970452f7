"""A trial hands out its validations one by one, ends once, and gives its folder back; training is played here."""

import math
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.builders.toy import toy_dataset
from vtr_core.config.override import override
from vtr_core.errors import TrainingError
from vtr_core.run.presets import preset
from vtr_core.systems.all import SYSTEMS
from vtr_core.train import trial as module
from vtr_core.train.checkpoint.run_folder import RunFolder, RunRecord
from vtr_core.train.fleet.lease import may_be_held
from vtr_core.train.job import Job
from vtr_core.train.trial import Standing, Trial

CONFIG = override(preset("capsule-howto-tiny"), {"batch.videos": 1, "batch.clips_per_video": 2})
"""Five videos make five steps an epoch."""
Play = Callable[[Job, Callable[[dict[str, Any]], None], Callable[[], bool]], None]


@pytest.fixture
def folder(tmp_path: Path) -> RunFolder:
    data = toy_dataset(tmp_path / "data")[0]
    folder = RunFolder.at(str(tmp_path / "run"))
    folder.claim(RunRecord(data.uri, None, data.fingerprint, "sqlite:///x", "vtr", "run-id"), CONFIG)
    return folder


def validation(step: int, value: float) -> dict[str, Any]:
    return {"step": step, "total_steps": 10, "val/t2v/sum_r": value}


def started(folder: RunFolder, monkeypatch: pytest.MonkeyPatch, play: Play) -> Trial:
    monkeypatch.setattr(module, "fit", play)
    return Trial(folder, {"git.commit": "c"}, SYSTEMS)


def test_validations_then_the_end_with_the_last_one(folder: RunFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    jobs = []

    def play(job: Job, on_report: Callable[[dict[str, Any]], None], should_stop: Callable[[], bool]) -> None:
        jobs.append(job)
        on_report({"event": "started", "step": 0})
        on_report({"step": 1, "total_steps": 10, "train/loss": 1.0})
        on_report(validation(5, 40.0))
        on_report(validation(7, 30.0))
        on_report(validation(10, 35.0))

    trial = started(folder, monkeypatch, play)
    assert trial.next() == Standing(5, 1.0, 40.0, 40.0, finished=False)
    assert trial.next() == Standing(7, 1.4, 30.0, 40.0, finished=False)
    assert trial.next() == Standing(10, 2.0, 35.0, 40.0, finished=True)
    assert jobs[0].provenance == {"git.commit": "c", "mlflow.run_id": "run-id", "mlflow.tracking_uri": "sqlite:///x"}
    assert jobs[0].tracked is None
    assert "started" in (Path(folder.location.path) / "events.jsonl").read_text()
    assert may_be_held(folder.location)
    trial.stop()
    assert not may_be_held(folder.location)


def test_an_early_end_of_its_own(folder: RunFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    trial = started(folder, monkeypatch, lambda job, on_report, should_stop: on_report(validation(5, 40.0)))
    trial.next()
    assert trial.next() == Standing(5, 1.0, 40.0, 40.0, finished=True)
    trial.stop()


def test_workers_that_are_replaced_before_the_last_checkpoint_validate_again(
    folder: RunFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    def play(job: Job, on_report: Callable[[dict[str, Any]], None], should_stop: Callable[[], bool]) -> None:
        on_report(validation(5, 40.0))
        on_report(validation(10, 35.0))
        on_report({"event": "resumed", "step": 5})
        on_report(validation(10, 35.5))

    trial = started(folder, monkeypatch, play)
    trial.next()
    assert trial.next() == Standing(10, 2.0, 35.5, 40.0, finished=True)
    trial.stop()


def test_what_training_fails_with_is_raised(folder: RunFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    def play(*_: Any) -> None:
        raise TrainingError("the loss was not finite")

    trial = started(folder, monkeypatch, play)
    with pytest.raises(TrainingError, match="not finite"):
        trial.next()
    trial.stop()


def test_an_end_without_a_validation_is_a_fault(folder: RunFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    trial = started(folder, monkeypatch, lambda *_: None)
    with pytest.raises(TrainingError, match="before its first validation"):
        trial.next()
    trial.stop()


def test_stop_asks_the_training_to_end_and_waits(folder: RunFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    ended = threading.Event()

    def play(job: Job, on_report: Callable[[dict[str, Any]], None], should_stop: Callable[[], bool]) -> None:
        on_report(validation(5, 40.0))
        while not should_stop():
            pass
        ended.set()

    trial = started(folder, monkeypatch, play)
    trial.next()
    trial.stop()
    assert ended.is_set()
    assert not may_be_held(folder.location)


def test_the_objective_is_the_best_that_is_a_number(folder: RunFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    def play(_: Job, on_report: Callable[[dict[str, Any]], None], should_stop: Callable[[], bool]) -> None:
        for step, value in ((2, math.nan), (4, 40.0), (6, math.nan)):
            on_report(validation(step, value))

    trial = started(folder, monkeypatch, play)
    trial.next()
    assert [trial.next().objective for _ in range(2)] == [40.0, 40.0]
    trial.stop()
