"""Processes that are killed or asked to stop, and two drivers with one output."""

import json
import os
import signal
import threading
import time
from pathlib import Path

import pytest
from mlflow import MlflowClient

from pipelines.train.command import TrainFlags, resume, train
from tests.drills import runs
from tests.drills.conftest import Record, Undisturbed
from vtr_core.errors import RunConflict

pytestmark = [pytest.mark.integration, pytest.mark.linux]
SLOW = {"training.checkpoint_every": 1}
"""A checkpoint at every step: time for a fault between the first and the last."""


@pytest.mark.long
def test_a_lost_worker_is_replaced(world: Path, tmp_path: Path, undisturbed: Undisturbed, record: Record) -> None:
    longer = {"training.epochs": 20, "training.checkpoint_every": 3, "training.validate_every": 20, **runs.LEARNT}
    expected, run = undisturbed(runs.config(2, **longer)), tmp_path / "run"
    killed: list[float] = []
    threading.Thread(target=_kill_a_worker, args=(run, killed), daemon=True).start()
    train(runs.config(2, **longer), TrainFlags(data=str(world), out=str(run)))
    runs.assert_equal_runs(expected, run, 40)
    record("SIGKILL of a train worker", "by itself", run, killed[0])


def _kill_a_worker(run: Path, killed: list[float]) -> None:
    """SIGKILL one train worker of this test's Ray, two steps behind the first checkpoint."""
    while not runs.has_checkpoint(run) or (run / "metrics.jsonl").read_text().count('train/loss"') < 5:
        time.sleep(0.01)
    os.kill(runs.train_workers()[0], signal.SIGKILL)
    killed.append(time.time())


@pytest.mark.long
def test_a_killed_run_is_resumed(world: Path, tmp_path: Path, undisturbed: Undisturbed, record: Record) -> None:
    expected, run = undisturbed(), tmp_path / "run"
    process = runs.start(world, run, runs.config(**SLOW))
    runs.wait_until(lambda: runs.has_checkpoint(run, "step-0000000[3-5]"), process)
    fault = runs.kill_group(process)
    resume(str(run))
    runs.assert_equal_runs(expected, run)
    record("SIGKILL of the command, workers and all", "vtr train --resume", run, fault)


@pytest.mark.long
def test_an_interrupted_run_saves_and_is_resumed(
    world: Path, tmp_path: Path, undisturbed: Undisturbed, record: Record, own_tracking_store: str
) -> None:
    expected, run = undisturbed(), tmp_path / "run"
    process = runs.start(world, run, runs.config(**SLOW))
    runs.wait_until(lambda: runs.has_checkpoint(run, "step-0000000[3-5]"), process)
    fault = time.time()
    os.kill(process.pid, signal.SIGTERM)
    assert process.wait(timeout=3600) == 128 + signal.SIGTERM
    run_id = json.loads((run / "run.json").read_text())["mlflow_run_id"]
    assert MlflowClient(own_tracking_store).get_run(run_id).info.status == "KILLED"
    resume(str(run))
    runs.assert_equal_runs(expected, run)
    assert runs.steps_lost(run) == 0
    assert MlflowClient(own_tracking_store).get_run(run_id).info.status == "FINISHED"
    record("SIGTERM to the command", "vtr train --resume", run, fault)


def test_of_two_runs_into_one_output_one_is_refused(
    world: Path, tmp_path: Path, undisturbed: Undisturbed, record: Record
) -> None:
    expected, run = undisturbed(runs.config(**{"training.epochs": 20})), tmp_path / "run"
    longer = runs.config(**{"training.epochs": 20, "training.checkpoint_every": 1})
    both = [runs.start(world, run, longer) for _ in range(2)]
    deadline = time.monotonic() + 3600
    while not runs.has_checkpoint(run):
        assert any(process.poll() is None for process in both)
        assert time.monotonic() < deadline
        time.sleep(0.02)
    with pytest.raises(RunConflict, match=r"being written by process \d+ on .* since 20"):
        resume(str(run))
    with pytest.raises(RunConflict, match="already holds a run"):
        train(longer, TrainFlags(data=str(world), out=str(run)))
    outputs = [process.communicate(timeout=3600)[0] for process in both]
    assert sorted(process.returncode for process in both) == [0, 2], outputs
    refused = next(output for process, output in zip(both, outputs, strict=True) if process.returncode == 2)
    assert "vtr train: RunConflict: " in refused
    assert "Traceback" not in refused
    runs.assert_equal_runs(expected, run, 40)
    record("two runs into one output", "the second refuses")
