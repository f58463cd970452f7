"""The driver of a run on a cluster: killed and submitted again, and asked to end."""

import os
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.drills.nodes import (
    STEPS,
    config,
    finish,
    reaches,
    resume_command,
    start,
    train_command,
)
from tests.drills.outcome import Outcome
from tests.drills.runs import assert_equal_runs, seconds_to_recover, steps_lost, wait_until
from tests.local_cluster.cluster import LocalCluster
from tests.local_cluster.ray_start import RAY

pytestmark = [pytest.mark.integration, pytest.mark.long, pytest.mark.linux]
Record = Callable[[Outcome], None]


def submit(cluster: LocalCluster, command: list[str]) -> list[str]:
    """`ray job submit`, which follows the job to its end."""
    return [*RAY, "job", "submit", "--address", cluster.dashboard_url, "--", *command]


def drivers(cluster: LocalCluster, run: Path) -> list[int]:
    """The processes on the head that are the run's `vtr train`, without the shell and the client that started it."""
    head = {pid: Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0") for pid in cluster.nodes[0].pids()}
    start = [sys.executable.encode(), b"-m", b"pipelines.cli"]
    return [pid for pid, words in head.items() if words[:3] == start and str(run).encode() in words]


def test_a_killed_driver_is_submitted_again(
    cluster: LocalCluster, world: Path, tmp_path: Path, expected: Path, record: Record
) -> None:
    run = tmp_path / "run"
    process = start(cluster, submit(cluster, train_command(world, run, config())))
    wait_until(reaches(run, 15), process)
    fault = time.time()
    (driver,) = drivers(cluster, run)
    os.kill(driver, signal.SIGKILL)
    output, _ = process.communicate(timeout=3600)
    assert process.returncode != 0, output
    finish(start(cluster, submit(cluster, resume_command(run))))
    assert_equal_runs(expected, run, STEPS)
    how = "vtr train --resume, submitted again"
    record(Outcome("SIGKILL of a submitted job's driver", how, steps_lost(run), seconds_to_recover(run, fault)))


def test_a_driver_that_is_asked_to_end_saves(
    cluster: LocalCluster, world: Path, tmp_path: Path, expected: Path, record: Record
) -> None:
    run = tmp_path / "run"
    process = start(cluster, train_command(world, run, config()))
    wait_until(reaches(run, 15), process)
    fault = time.time()
    os.kill(process.pid, signal.SIGTERM)
    output, _ = process.communicate(timeout=3600)
    assert process.returncode == 128 + signal.SIGTERM, output
    finish(start(cluster, resume_command(run)))
    assert_equal_runs(expected, run, STEPS)
    assert steps_lost(run) == 0
    seconds = seconds_to_recover(run, fault)
    record(Outcome("SIGTERM to the driver of two nodes", "vtr train --resume", 0, seconds))
