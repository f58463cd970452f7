"""Processes that are killed or asked to stop, and two drivers with one output."""

import json
import os
import signal
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from mlflow import MlflowClient

from pipelines.train.command import TrainFlags, resume, train
from tests.drills.conftest import Undisturbed
from tests.drills.runs import (
    LEARNT,
    assert_equal_runs,
    config,
    has_checkpoint,
    kill_group,
    seconds_to_recover,
    start,
    steps_lost,
    train_workers,
    wait_until,
)
from tests.drills.table import Outcome
from vtr_core.errors import RunConflict

pytestmark = [pytest.mark.integration, pytest.mark.linux]
SLOW = {"training.checkpoint_every": 1}
"""A checkpoint at every step: time for a fault between the first and the last."""


@pytest.mark.long
def test_a_lost_worker_is_replaced(
    world: Path, tmp_path: Path, undisturbed: Undisturbed, record: Callable[[Outcome], None]
) -> None:
    longer = {"training.epochs": 20, "training.checkpoint_every": 3, "training.validate_every": 20, **LEARNT}
    expected, run = undisturbed(config(2, **longer)), tmp_path / "run"
    killed: list[float] = []
    threading.Thread(target=_kill_a_worker, args=(run, killed), daemon=True).start()
    train(config(2, **longer), TrainFlags(data=str(world), out=str(run)))
    assert_equal_runs(expected, run, 40)
    seconds = seconds_to_recover(run, killed[0])
    record(Outcome("SIGKILL of a train worker", "by itself", steps_lost(run), seconds))


def _kill_a_worker(run: Path, killed: list[float]) -> None:
    """SIGKILL one train worker of this test's Ray, two steps behind the first checkpoint."""
    while not has_checkpoint(run) or (run / "metrics.jsonl").read_text().count('train/loss"') < 5:
        time.sleep(0.01)
    os.kill(train_workers()[0], signal.SIGKILL)
    killed.append(time.time())


@pytest.mark.long
def test_a_killed_run_is_resumed(
    world: Path, tmp_path: Path, undisturbed: Undisturbed, record: Callable[[Outcome], None]
) -> None:
    expected, run = undisturbed(), tmp_path / "run"
    process = start(world, run, config(**SLOW))
    wait_until(lambda: has_checkpoint(run, "step-0000000[3-5]"), process)
    fault = kill_group(process)
    resume(str(run))
    assert_equal_runs(expected, run)
    seconds = seconds_to_recover(run, fault)
    record(Outcome("SIGKILL of the command, workers and all", "vtr train --resume", steps_lost(run), seconds))


@pytest.mark.long
def test_an_interrupted_run_saves_and_is_resumed(
    world: Path, tmp_path: Path, undisturbed: Undisturbed, record: Callable[[Outcome], None], own_tracking_store: str
) -> None:
    expected, run = undisturbed(), tmp_path / "run"
    process = start(world, run, config(**SLOW))
    wait_until(lambda: has_checkpoint(run, "step-0000000[3-5]"), process)
    fault = time.time()
    os.kill(process.pid, signal.SIGTERM)
    assert process.wait(timeout=3600) == 128 + signal.SIGTERM
    run_id = json.loads((run / "run.json").read_text())["mlflow_run_id"]
    assert MlflowClient(own_tracking_store).get_run(run_id).info.status == "KILLED"
    resume(str(run))
    assert_equal_runs(expected, run)
    assert steps_lost(run) == 0
    assert MlflowClient(own_tracking_store).get_run(run_id).info.status == "FINISHED"
    record(Outcome("SIGTERM to the command", "vtr train --resume", 0, seconds_to_recover(run, fault)))


def test_of_two_runs_into_one_output_one_is_refused(
    world: Path, tmp_path: Path, undisturbed: Undisturbed, record: Callable[[Outcome], None]
) -> None:
    expected, run = undisturbed(config(**{"training.epochs": 20})), tmp_path / "run"
    longer = config(**{"training.epochs": 20, "training.checkpoint_every": 1})
    both = [start(world, run, longer) for _ in range(2)]
    deadline = time.monotonic() + 3600
    while not has_checkpoint(run):
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
    assert_equal_runs(expected, run, 40)
    record(Outcome("two runs into one output", "the second refuses", 0, None))
