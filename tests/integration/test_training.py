"""Whole runs: what is trained does not depend on the number of workers, nor on being killed on the way."""

import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
import safetensors.torch
import torch
from mlflow import MlflowClient

from pipelines.train import TrainFlags, resume, train
from vtr_core.config.override import override
from vtr_core.config.presets import preset
from vtr_core.config.train import TrainConfig
from vtr_core.errors import ConfigError, RunConflict, TrainingError
from vtr_core.train.checkpoint import load_model

pytestmark = pytest.mark.integration
EPOCHS, STEPS_PER_EPOCH = 6, 2
STEPS = EPOCHS * STEPS_PER_EPOCH
LEARNT = {"loss.kind": "info_nce", "loss.learnable_temperature": True, "training.ema_decay": 0.9}
"""A loss with a parameter of its own, and weights that are averaged: more state to carry on with."""


def config(workers: int = 1, **changes: object) -> TrainConfig:
    small = {
        "model.num_capsules": 4,
        "model.embedding_dim": 16,
        "model.words.hidden_dim": 16,
        "batch.clips_per_video": 3,
        "training.epochs": EPOCHS,
        "training.log_every": 1,
        "scaling.workers": workers,
    }
    return override(preset("capsule-howto-tiny"), {**small, **changes})


def losses(run: Path) -> list[float]:
    points = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
    return [point["train/loss"] for point in points if "train/loss" in point]


def weights(run: Path, step: int) -> dict[str, torch.Tensor]:
    return safetensors.torch.load_file(run / "checkpoints" / f"step-{step:08d}" / "model.safetensors")


@pytest.fixture(scope="module")
def one_worker(world: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An undisturbed run of one worker."""
    out = tmp_path_factory.mktemp("runs") / "one"
    train(config(), TrainFlags(data=str(world), out=str(out), experiment="one"))
    return out


def test_two_workers_train_what_one_does(one_worker: Path, world: Path, tmp_path: Path) -> None:
    """Nor does it depend on micro-batches and blocks of the similarity matrix; candidates, a learnt temperature."""
    same = {"model.routing.dropout": 0.0, "batch.candidates": 2, **LEARNT}
    for workers, pieces in ((1, {}), (2, {"batch.micro_rows": 10, "loss.block_rows": 7})):
        flags = TrainFlags(data=str(world), out=str(tmp_path / str(workers)))
        train(config(workers, **same, **pieces), flags)
    one, two = losses(tmp_path / "1"), losses(tmp_path / "2")
    assert len(one) == STEPS
    assert two == pytest.approx(one, rel=0, abs=1e-5)


def test_a_run_that_was_killed_ends_bit_equal(one_worker: Path, world: Path, tmp_path: Path) -> None:
    out = tmp_path / "killed"
    _train_and_kill(world, out)
    assert not (out / "checkpoints" / f"step-{STEPS:08d}").exists()
    resume(str(out))
    undisturbed, resumed = weights(one_worker, STEPS), weights(out, STEPS)
    assert undisturbed.keys() == resumed.keys()
    assert all(torch.equal(undisturbed[name], resumed[name]) for name in undisturbed)
    assert losses(out) == losses(one_worker)


def test_a_run_that_was_interrupted_saves_and_ends_bit_equal(
    one_worker: Path, world: Path, tmp_path: Path, own_tracking_store: str
) -> None:
    out = tmp_path / "interrupted"
    process = _start(world, out)
    os.kill(process.pid, signal.SIGTERM)
    assert process.wait(timeout=60) == 128 + signal.SIGTERM
    run_id = json.loads((out / "run.json").read_text())["mlflow_run_id"]
    assert MlflowClient(own_tracking_store).get_run(run_id).info.status == "KILLED"
    resume(str(out))
    undisturbed, resumed = weights(one_worker, STEPS), weights(out, STEPS)
    assert all(torch.equal(undisturbed[name], resumed[name]) for name in undisturbed)
    assert MlflowClient(own_tracking_store).get_run(run_id).info.status == "FINISHED"


def test_a_lost_worker_is_replaced_and_nothing_changes(world: Path, tmp_path: Path) -> None:
    undisturbed, disturbed = tmp_path / "undisturbed", tmp_path / "disturbed"
    longer = {"training.epochs": 20, "training.checkpoint_every": 3, "training.validate_every": 20, **LEARNT}
    train(config(2, **longer), TrainFlags(data=str(world), out=str(undisturbed)))
    killed: list[int] = []
    threading.Thread(target=_kill_a_worker, args=(disturbed, killed), daemon=True).start()
    train(config(2, **longer), TrainFlags(data=str(world), out=str(disturbed)))
    assert killed
    expected, found = weights(undisturbed, 40), weights(disturbed, 40)
    assert all(torch.equal(expected[name], found[name]) for name in expected)
    assert losses(disturbed) == losses(undisturbed)


def _kill_a_worker(run: Path, killed: list[int]) -> None:
    """SIGKILL one train worker of this test's Ray, once the run has a checkpoint."""
    while not list(run.glob("checkpoints/step-*/checkpoint.json")):
        time.sleep(0.02)
    ours = [pid for pid in _processes("RayTrainWorker") if os.getpid() in _ancestors(pid)]
    os.kill(ours[0], signal.SIGKILL)
    killed.append(ours[0])


def _processes(name: str) -> list[int]:
    folders = [folder for folder in Path("/proc").iterdir() if folder.name.isdigit()]
    return [int(folder.name) for folder in folders if name in _read(folder / "cmdline")]


def _ancestors(pid: int) -> list[int]:
    parents = []
    while pid > 1:
        pid = int((_read(Path(f"/proc/{pid}/stat")).rpartition(")")[2].split() or ["", "0"])[1])
        parents.append(pid)
    return parents


def _read(path: Path) -> str:
    try:
        return path.read_text(errors="replace")
    except OSError:  # the process has ended
        return ""


def _train_and_kill(world: Path, out: Path) -> None:
    """SIGKILL the command, workers and all."""
    process = _start(world, out)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def _start(world: Path, out: Path) -> subprocess.Popen[bytes]:
    """Start the undisturbed run's twin as a command, and return when it has a few checkpoints, but not the last."""
    changes = config().model_dump(mode="json")
    changes["training"]["checkpoint_every"] = 1
    (out.parent / "config.json").write_text(json.dumps(changes))
    command = [sys.executable, "-m", "pipelines.cli", "train", "--config", str(out.parent / "config.json")]
    process = subprocess.Popen(
        [*command, "--data", str(world), "--out", str(out)],
        start_new_session=True,
        env={**os.environ, "RAY_ADDRESS": "local"},
        stdout=subprocess.DEVNULL,
    )
    deadline = time.monotonic() + 180
    while not list(out.glob("checkpoints/step-0000000[3-5]/checkpoint.json")):
        assert process.poll() is None, "the run ended before it could be killed"
        assert time.monotonic() < deadline
        time.sleep(0.02)
    return process


def test_mlflow_has_the_run(one_worker: Path, own_tracking_store: str) -> None:
    record = json.loads((one_worker / "run.json").read_text())
    client = MlflowClient(own_tracking_store)
    run = client.get_run(record["mlflow_run_id"])
    assert run.info.status == "FINISHED"
    assert run.data.params["model.num_capsules"] == "4"
    assert run.data.params["loss.margin.value"] == "0.001"
    assert run.data.tags["preset"] == "capsule-howto-tiny"
    assert run.data.tags["workers"] == "1"
    assert {item.tags[0].value for item in run.inputs.dataset_inputs} == {"training", "validation"}
    history = client.get_metric_history(run.info.run_id, "train/loss")
    assert [point.step for point in history] == list(range(1, STEPS + 1))
    assert [point.value for point in history] == losses(one_worker)
    assert "val/t2v/r1" in run.data.metrics
    assert len(client.search_logged_models([run.info.experiment_id])) == 1


def test_a_failed_run_is_failed(world: Path, tmp_path: Path, own_tracking_store: str) -> None:
    out = tmp_path / "failed"
    with pytest.raises(ConfigError, match="val/nothing"):
        train(config(**{"training.metric": "val/nothing"}), TrainFlags(data=str(world), out=str(out)))
    run_id = json.loads((out / "run.json").read_text())["mlflow_run_id"]
    assert MlflowClient(own_tracking_store).get_run(run_id).info.status == "FAILED"


def test_a_loss_that_stays_not_finite_ends_the_run(world: Path, tmp_path: Path) -> None:
    wild = config(**{"optimizer.learning_rate": 1e30, "training.max_nonfinite": 2, "training.validate_every": 3})
    with pytest.raises(TrainingError, match=r"not finite in 3 steps in a row.*part-00000\.parquet \(row group 0\)"):
        train(wild, TrainFlags(data=str(world), out=str(tmp_path / "wild")))


def test_a_second_run_does_not_take_the_folder(one_worker: Path, world: Path) -> None:
    with pytest.raises(RunConflict, match="--resume"):
        train(config(), TrainFlags(data=str(world), out=str(one_worker)))


def test_a_checkpoint_loads_by_itself(one_worker: Path) -> None:
    loaded = load_model(str(one_worker))
    assert loaded.config.model.num_capsules == 4
    assert not loaded.model.training


def test_training_stops_early(world: Path, tmp_path: Path) -> None:
    patient = config(**{"training.epochs": 50, "training.patience": 2, "optimizer.learning_rate": 1e-12})
    train(patient, TrainFlags(data=str(world), out=str(tmp_path / "early")))
    assert len(losses(tmp_path / "early")) < 50 * STEPS_PER_EPOCH
