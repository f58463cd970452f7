"""Where the tasks of a run went, as Ray recorded it, on a cluster of a node with GPUs and one for reading."""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.drills import nodes, runs
from tests.local_cluster.cluster import LocalCluster
from tests.local_cluster.ray_start import NodeSpec
from vtr_core.config.run import ReadingNodes
from vtr_core.train.fleet.placement import LABEL, READING

pytestmark = [pytest.mark.integration, pytest.mark.long, pytest.mark.linux]
WITH_GPUS = NodeSpec(cpus=3, gpus=2, labels={LABEL: "training"})
"""The GPUs are not there: workers compute on CPUs, and it is the labels that decide where."""
FOR_READING = NodeSpec(cpus=3, labels={LABEL: READING})
PATIENCE = {
    "RAY_health_check_timeout_ms": "30000",
    "RAY_health_check_failure_threshold": "10",
    "RAY_TRAIN_WORKER_GROUP_START_TIMEOUT_S": "120",
    "RAY_TRAIN_WORKER_HEALTH_CHECK_TIMEOUT_S": "120",
}
"""No node fails here; one that answers late on a busy machine is not to be taken for dead."""


@pytest.fixture(scope="module")
def cluster() -> Iterator[LocalCluster]:
    environment = {**nodes.ONE_THREAD, **PATIENCE}
    with LocalCluster([WITH_GPUS, FOR_READING], environment=environment) as running:
        yield running


@dataclass(frozen=True)
class Trained:
    """What a run said of the nodes for reading, and the names of the nodes that its tasks ran on."""

    said: str
    reading: set[str]
    workers: set[str]


def _train(cluster: LocalCluster, world: Path, run: Path, wanted: ReadingNodes) -> Trained:
    """Train two workers, of one CPU each."""
    before = {task["task_id"] for task in _tasks(cluster)}
    config = runs.config(2, **{"scaling.device": "cpu", "scaling.reading_nodes": wanted})
    nodes.finish(nodes.start(cluster, nodes.train_command(world, run, config)))
    names = cluster.alive()
    places = {(task["name"], names[task["node_id"]]) for task in _tasks(cluster) if task["task_id"] not in before}
    (said,) = runs.events(run, "reading")
    return Trained(
        said["on"],
        {node for name, node in places if name.startswith("MapBatches")},
        {node for name, node in places if name.startswith("RayTrainWorker")},
    )


def _tasks(cluster: LocalCluster) -> list[dict[str, Any]]:
    """The tasks that a node has taken, as Ray keeps them."""
    from ray.util.state import list_tasks

    os.environ.setdefault("RAY_AUTH_MODE", "disabled")
    found = list_tasks(cluster.dashboard_url, limit=10_000, detail=True)
    return [{name: task[name] for name in ("task_id", "name", "node_id")} for task in found if task["node_id"]]


def test_reading_and_training_go_to_different_nodes(cluster: LocalCluster, world: Path, tmp_path: Path) -> None:
    """As by default: `auto` finds the node with the label."""
    with_gpus, for_reading = (node.name for node in cluster.nodes)
    trained = _train(cluster, world, tmp_path / "run", "auto")
    assert trained == Trained("1 node labelled vtr-role=reading", {for_reading}, {with_gpus})


def test_otherwise_reading_takes_cpus_of_the_nodes_with_gpus(
    cluster: LocalCluster, world: Path, tmp_path: Path
) -> None:
    trained = _train(cluster, world, tmp_path / "run", "any")
    assert trained.said == "any node"
    assert cluster.nodes[0].name in trained.reading
