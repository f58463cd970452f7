"""Nodes that die, are cut off, are taken away with notice, and come back; the driver of a run on them."""

import os
import signal
import sys
import time
from pathlib import Path

import pytest

from tests.drills import nodes, runs
from tests.drills.conftest import Record, Undisturbed
from tests.drills.nodes import start
from tests.local_cluster.cluster import LocalCluster
from tests.local_cluster.ray_start import RAY

pytestmark = [pytest.mark.integration, pytest.mark.long, pytest.mark.linux]


def test_a_killed_node_comes_back(
    cluster: LocalCluster, world: Path, tmp_path: Path, expected: Path, record: Record
) -> None:
    run = tmp_path / "run"
    process = start(cluster, nodes.train_command(world, run, nodes.config()))
    runs.wait_until(nodes.reaches(run, 15), process)
    fault = time.time()
    cluster.nodes[1].kill()
    cluster.nodes[1].restart()
    nodes.finish(process)
    runs.assert_equal_runs(expected, run, nodes.STEPS)
    assert runs.events(run, "worker_lost")
    record("SIGKILL of a whole node, which comes back", "by itself", run, fault)


def test_a_node_that_was_cut_off_comes_back(
    cluster: LocalCluster, world: Path, tmp_path: Path, expected: Path, record: Record
) -> None:
    if cluster.isolation != "namespaces":
        pytest.skip("only a node with a network namespace can be cut off: run as root where `ip netns add` works")
    run = tmp_path / "run"
    process = start(cluster, nodes.train_command(world, run, nodes.config()))
    runs.wait_until(nodes.reaches(run, 15), process)
    fault = time.time()
    cluster.nodes[1].cut_network()
    time.sleep(20)
    cluster.nodes[1].restore_network()
    cluster.nodes[1].restart()  # Ray on a node that was given up ends itself
    nodes.finish(process)
    runs.assert_equal_runs(expected, run, nodes.STEPS)
    assert runs.events(run, "worker_lost")
    record("a node's network cut for 20 s", "by itself, once Ray on it runs again", run, fault)


def test_an_elastic_run_shrinks_and_grows(
    cluster: LocalCluster, world: Path, tmp_path: Path, undisturbed: Undisturbed, record: Record
) -> None:
    """On another number of workers sums are taken in another order: equal up to rounding, and every step done once.

    Without dropout: each worker draws masks of its own, so others on another number of workers.
    """
    plain = {"model.routing.dropout": 0.0}
    expected, run = undisturbed(nodes.local(nodes.config(**plain))), tmp_path / "run"
    process = start(
        cluster,
        nodes.train_command(
            world, run, nodes.config(**plain, **{"scaling.min_workers": 1, "scaling.resize_interval_s": 1.0})
        ),
    )
    runs.wait_until(nodes.reaches(run, 15), process)
    fault = time.time()
    cluster.nodes[1].kill()
    runs.wait_until(lambda: runs.events(run, "restarted"), process)
    cluster.nodes[1].restart()
    nodes.finish(process)
    begun = runs.events(run, "started", "resumed")
    assert [event["workers"] for event in begun] == [2, 1, 2]
    assert begun[1]["step"] < begun[2]["step"]
    assert begun[2]["steps_lost"] == 0
    assert runs.steps(run) == list(range(1, nodes.STEPS + 1))
    assert runs.losses(run) == pytest.approx(runs.losses(expected), rel=0, abs=1e-5)
    record("SIGKILL of a node, workers 1-2", "by itself, on one worker", run, fault)
    resized = runs.events(run, "resized")[0]["time"]
    record("a node joins, workers 1-2", "by itself, on two workers again", run, resized, lost=0)


def test_a_node_is_taken_away_with_notice(
    cluster: LocalCluster, world: Path, tmp_path: Path, expected: Path, record: Record
) -> None:
    cluster.add(nodes.OTHER)
    cluster.wait_for_nodes(3)
    run = tmp_path / "run"
    process = start(cluster, nodes.train_command(world, run, nodes.config()))
    runs.wait_until(nodes.reaches(run, 15), process)
    taken = next(node for node in cluster.nodes[1:] if nodes.train_workers(node))
    notice = time.time()
    taken.drain()
    runs.wait_until(lambda: runs.events(run, "preempted"), process)
    taken.kill()
    nodes.finish(process)
    runs.assert_equal_runs(expected, run, nodes.STEPS)
    assert not runs.events(run, "worker_lost")
    assert runs.steps_lost(run) == 0
    saved = runs.events(run, "preempted")[0]["time"] - notice
    assert saved < 10 * max(1, os.getloadavg()[0] / (os.cpu_count() or 1)), "what is asked of a machine with free cores"
    how = f"by itself, on another node; checkpoint {saved:.1f} s after the notice"
    record("preemption notice for a node, which then dies", how, run, notice)


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
    process = start(cluster, submit(cluster, nodes.train_command(world, run, nodes.config())))
    runs.wait_until(nodes.reaches(run, 15), process)
    fault = time.time()
    (driver,) = drivers(cluster, run)
    os.kill(driver, signal.SIGKILL)
    output, _ = process.communicate(timeout=3600)
    assert process.returncode != 0, output
    nodes.finish(start(cluster, submit(cluster, nodes.resume_command(run))))
    runs.assert_equal_runs(expected, run, nodes.STEPS)
    how = "vtr train --resume, submitted again"
    record("SIGKILL of a submitted job's driver", how, run, fault)


def test_a_driver_that_is_asked_to_end_saves(
    cluster: LocalCluster, world: Path, tmp_path: Path, expected: Path, record: Record
) -> None:
    run = tmp_path / "run"
    process = start(cluster, nodes.train_command(world, run, nodes.config()))
    runs.wait_until(nodes.reaches(run, 15), process)
    fault = time.time()
    os.kill(process.pid, signal.SIGTERM)
    output, _ = process.communicate(timeout=3600)
    assert process.returncode == 128 + signal.SIGTERM, output
    nodes.finish(start(cluster, nodes.resume_command(run)))
    runs.assert_equal_runs(expected, run, nodes.STEPS)
    assert runs.steps_lost(run) == 0
    record("SIGTERM to the driver of two nodes", "vtr train --resume", run, fault)
