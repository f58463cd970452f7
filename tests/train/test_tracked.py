"""The driver sends to MLflow what workers could not, whenever that becomes possible, and once."""

import dataclasses
import json
import logging
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from mlflow import MlflowClient

from tests.builders.toy import toy_dataset
from vtr_core.errors import Interrupted
from vtr_core.run.presets import preset
from vtr_core.systems.all import SYSTEMS
from vtr_core.tracking.run import TrackedRun
from vtr_core.train import tracked
from vtr_core.train.checkpoint.run_folder import RunFolder, RunRecord
from vtr_core.train.tracked import Tracking, tracked_run

CONFIG = preset("capsule-howto-tiny")


@pytest.fixture
def folder(tmp_path: Path) -> RunFolder:
    data = toy_dataset(tmp_path / "data")[0]
    store = f"sqlite:///{tmp_path}/store/mlflow.db"
    folder = RunFolder.at(str(tmp_path / "run"))
    folder.claim(RunRecord(data.uri, None, data.fingerprint, store, "vtr", started=100.5), CONFIG)
    points = [{"step": step, "time": 1000.0 + step, "train/loss": 1 / step} for step in (1, 2, 3)]
    (tmp_path / "run" / "metrics.jsonl").write_text("".join(json.dumps(point) + "\n" for point in points))
    (tmp_path / "run" / "events.jsonl").write_text('{"time": 1.0, "event": "started"}\n')
    return folder


def history(folder: RunFolder) -> list[tuple[int, float, int]]:
    record, _ = folder.read(SYSTEMS)
    assert record.mlflow_run_id is not None
    found = MlflowClient(record.tracking_uri).get_metric_history(record.mlflow_run_id, "train/loss")
    return sorted((metric.step, metric.value, metric.timestamp) for metric in found)


EXPECTED = [(1, 1.0, 1_001_000), (2, 0.5, 1_002_000), (3, 1 / 3, 1_003_000)]


def test_a_store_that_is_away_is_sent_everything_by_the_next_session(
    folder: RunFolder, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "store").write_text("in the way")
    record, _ = folder.read(SYSTEMS)
    with tracked_run(folder, record, CONFIG, {}, record.tracking_uri) as tracking:
        assert tracking.for_workers is None
    assert f"vtr train --resume {folder.location} sends what MLflow lacks" in caplog.text
    assert folder.read(SYSTEMS)[0].mlflow_run_id is None
    (tmp_path / "store").unlink()
    (tmp_path / "store").mkdir()
    for _ in range(2):
        record, _ = folder.read(SYSTEMS)
        with tracked_run(folder, record, CONFIG, {"git.commit": "abc"}, record.tracking_uri):
            pass
        assert history(folder) == EXPECTED
    client, run_id = MlflowClient(record.tracking_uri), folder.read(SYSTEMS)[0].mlflow_run_id
    run = client.get_run(str(run_id))
    assert (run.info.status, run.info.start_time) == ("FINISHED", 100_500)
    assert run.data.params["training.epochs"] == "10"
    assert run.data.tags["git.commit"] == "abc"
    assert len(run.inputs.dataset_inputs) == 1
    assert {file.path for file in client.list_artifacts(str(run_id))} == {
        "config.json",
        "environment.json",
        "events.jsonl",
    }


def test_a_store_that_comes_back_during_the_run_is_sent_the_points_then(
    folder: RunFolder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tracked, "_PAUSES_S", (0.05, 0.05))
    monkeypatch.setattr(tracked, "_SEND_EVERY_S", 0.05)
    (tmp_path / "store").write_text("in the way")
    record, _ = folder.read(SYSTEMS)
    with tracked_run(folder, record, CONFIG, {}, record.tracking_uri) as tracking:
        assert tracking.for_workers is None
        (tmp_path / "store").unlink()
        (tmp_path / "store").mkdir()
        wait_for(lambda: folder.read(SYSTEMS)[0].mlflow_run_id is not None and history(folder) == EXPECTED)
        assert MlflowClient(record.tracking_uri).get_run(str(tracking.run_id)).info.status == "RUNNING"


class Slow:
    """A store that answers once it may."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.asked, self.may_answer = threading.Event(), threading.Event()
        self._open_run = tracked.open_run
        monkeypatch.setattr(tracked, "open_run", self._answer)

    def _answer(self, *arguments: Any) -> TrackedRun | None:
        self.asked.set()
        assert self.may_answer.wait(600)
        return self._open_run(*arguments)


def test_training_waits_for_a_slow_store(folder: RunFolder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "store").mkdir()
    store = Slow(monkeypatch)
    record, _ = folder.read(SYSTEMS)
    tracking = Tracking(folder, record, CONFIG, {}, record.tracking_uri)
    beginning = threading.Thread(target=tracking.begin)
    beginning.start()
    assert store.asked.wait(600)
    assert beginning.is_alive()
    assert tracking.for_workers is None
    store.may_answer.set()
    beginning.join()
    assert tracking.for_workers is not None
    assert tracking.end("FINISHED")


def test_training_begins_without_a_store_that_takes_too_long(
    folder: RunFolder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "store").mkdir()
    store = Slow(monkeypatch)
    monkeypatch.setenv("VTR_MLFLOW_PATIENCE_S", "0")
    record, _ = folder.read(SYSTEMS)
    with tracked_run(folder, record, CONFIG, {}, record.tracking_uri) as tracking:
        assert tracking.for_workers is None
        assert "without MLflow, which did not answer in 0 s (VTR_MLFLOW_PATIENCE_S); " in caplog.text
        store.may_answer.set()
    assert history(folder) == EXPECTED


@pytest.mark.parametrize(("error", "status"), [(Interrupted(15), "KILLED"), (ValueError("x"), "FAILED")])
def test_how_a_run_ends_is_its_status(
    folder: RunFolder, tmp_path: Path, error: BaseException, status: str, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "store").mkdir()
    record, _ = folder.read(SYSTEMS)
    with pytest.raises(type(error)), tracked_run(folder, record, CONFIG, {}, record.tracking_uri):
        raise error
    run_id = folder.read(SYSTEMS)[0].mlflow_run_id
    assert MlflowClient(record.tracking_uri).get_run(str(run_id)).info.status == status
    assert history(folder) == EXPECTED
    assert not [message for message in caplog.records if message.levelno >= logging.WARNING]


def test_a_record_has_its_run_even_where_the_first_writing_failed(
    folder: RunFolder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "store").mkdir()
    record, _ = folder.read(SYSTEMS)
    written = RunFolder.write_record
    calls: list[RunRecord] = []

    def fail_once(self: RunFolder, record: RunRecord) -> None:
        calls.append(record)
        if len(calls) == 1:
            raise OSError("No space left on device")
        written(self, record)

    monkeypatch.setattr(RunFolder, "write_record", fail_once)
    with tracked_run(folder, record, CONFIG, {}, record.tracking_uri):
        pass
    assert folder.read(SYSTEMS)[0] == dataclasses.replace(record, mlflow_run_id=calls[0].mlflow_run_id)
    experiment = MlflowClient(record.tracking_uri).get_experiment_by_name("vtr")
    assert experiment is not None
    assert len(MlflowClient(record.tracking_uri).search_runs([experiment.experiment_id])) == 1


def wait_for(holds: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 3600
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.05)
