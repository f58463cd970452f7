"""MLflow away: for the whole run, or from some point on."""

import json
import os
import socket
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
from mlflow import MlflowClient

from pipelines.train.command import TrainFlags, resume, train
from tests.drills.conftest import Record, Undisturbed
from tests.drills.runs import STEPS, assert_equal_runs, config, points

pytestmark = [pytest.mark.integration, pytest.mark.long, pytest.mark.linux]
_ARTIFACTS = {"config.json", "environment.json", "events.jsonl"}


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


@contextmanager
def server(folder: Path, port: int) -> Iterator[None]:
    """An MLflow server on the loopback address."""
    folder.mkdir(exist_ok=True)
    store = [
        "--backend-store-uri",
        f"sqlite:///{folder}/mlflow.db",
        "--artifacts-destination",
        str(folder / "artifacts"),
    ]
    command = [sys.executable, "-m", "mlflow", "server", *store, "--host", "127.0.0.1", "--port", str(port)]
    process = subprocess.Popen(
        [*command, "--workers", "1"], start_new_session=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        _wait_for(f"http://127.0.0.1:{port}/health", process)
        yield
    finally:
        os.killpg(process.pid, 9)
        process.wait()


def _wait_for(url: str, process: "subprocess.Popen[bytes]") -> None:
    deadline = time.monotonic() + 3600
    while time.monotonic() < deadline and process.poll() is None:
        with suppress(OSError), urllib.request.urlopen(url, timeout=5):
            return
        time.sleep(0.2)
    raise AssertionError("the MLflow server did not start")


def assert_complete(uri: str, run: Path) -> None:
    """MLflow has everything of the run, once, with its own times."""
    record = json.loads((run / "run.json").read_text())
    client = MlflowClient(uri)
    found = client.get_run(record["mlflow_run_id"])
    assert found.info.status == "FINISHED"
    assert found.data.params["model.num_capsules"] == "4"
    assert found.data.tags["preset"] == "capsule-howto-tiny"
    assert {item.tags[0].value for item in found.inputs.dataset_inputs} == {"training", "validation"}
    logged = points(run)
    assert [point["step"] for point in logged if "train/loss" in point] == list(range(1, STEPS + 1))
    for name in ("train/loss", "train/skipped_steps", "val/t2v/r1"):
        expected = [(p["step"], p[name], int(p["time"] * 1000)) for p in logged if name in p]
        history = client.get_metric_history(found.info.run_id, name)
        assert sorted((m.step, m.value, m.timestamp) for m in history) == expected
    models = client.search_logged_models([found.info.experiment_id])
    assert [model.tags["uri"] for model in models if model.source_run_id == found.info.run_id] == [best(run)]
    assert {file.path for file in client.list_artifacts(found.info.run_id)} == _ARTIFACTS


def best(run: Path) -> str:
    return str(run / "checkpoints" / json.loads((run / "checkpoints" / "best.json").read_text())["checkpoint"])


def test_mlflow_is_away_for_the_whole_run(
    world: Path,
    tmp_path: Path,
    undisturbed: Undisturbed,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
    record: Record,
) -> None:
    port, run = free_port(), tmp_path / "run"
    expected = undisturbed()
    uri = f"http://user:pass-word-7@127.0.0.1:{port}"
    monkeypatch.setenv("MLFLOW_TRACKING_URI", uri)
    finished = train(config(), TrainFlags(data=str(world), out=str(run)))
    assert finished.mlflow_run_id is None
    assert_equal_runs(expected, run)
    with server(tmp_path / "server", port):
        resume(str(run))
        assert_complete(uri, run)
        resume(str(run))
        assert_complete(uri, run)
    assert_equal_runs(expected, run)
    captured = capfd.readouterr()
    assert "pass-word-7" not in captured.out + captured.err
    assert not [file for file in run.rglob("*") if file.is_file() and b"pass-word-7" in file.read_bytes()]
    record("MLflow away for the whole run", "vtr train --resume sends all")


def test_mlflow_goes_away_during_the_run(
    world: Path,
    tmp_path: Path,
    undisturbed: Undisturbed,
    monkeypatch: pytest.MonkeyPatch,
    record: Record,
) -> None:
    port, run = free_port(), tmp_path / "run"
    expected = undisturbed()
    monkeypatch.setenv("MLFLOW_TRACKING_URI", f"http://127.0.0.1:{port}")
    training = threading.Thread(target=train, args=(config(), TrainFlags(data=str(world), out=str(run))))
    with server(tmp_path / "server", port):
        training.start()
        while not (run / "metrics.jsonl").exists():
            time.sleep(0.02)
    training.join()
    assert_equal_runs(expected, run)
    with server(tmp_path / "server", port):
        resume(str(run))
        assert_complete(f"http://127.0.0.1:{port}", run)
    record("MLflow goes away during the run", "vtr train --resume sends the rest")
