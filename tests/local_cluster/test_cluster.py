"""A local cluster without its Ray: what it refuses, and that it leaves nothing."""

import json
import os
import subprocess
from pathlib import Path
from types import SimpleNamespace

import pytest
from ray.exceptions import RpcError

from tests.local_cluster import naming, network, processes
from tests.local_cluster.cluster import LocalCluster, LocalNode, orphans, remove
from tests.local_cluster.naming import Names
from tests.local_cluster.network import Subnet
from tests.local_cluster.ray_start import NodeSpec
from vtr_core.errors import ClusterError

pytestmark = pytest.mark.linux
OBSTACLE = network.why_no_namespaces()


@pytest.fixture(autouse=True)
def own_root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(naming, "ROOT", tmp_path)
    return tmp_path


def test_what_cannot_be_is_refused() -> None:
    with pytest.raises(ClusterError, match="1 to 200 nodes, 0 were asked for"):
        LocalCluster([], isolation="processes")
    cluster = LocalCluster([NodeSpec()], isolation="processes")
    node = LocalNode(cluster, 0, NodeSpec(), agent=1)
    with pytest.raises(ClusterError, match="only a node with a network namespace can be cut off"):
        node.cut_network()
    with pytest.raises(ClusterError, match=r"head .* cannot be restarted"):
        node.restart()


def test_without_root_there_are_processes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    monkeypatch.setattr(network.shutil, "which", lambda name: "/sbin/ip")
    assert LocalCluster([NodeSpec()]).isolation == "processes"
    with pytest.raises(ClusterError, match=r"need root.*use isolation 'processes'"):
        LocalCluster([NodeSpec()], isolation="namespaces")


@pytest.fixture
def leftover(own_root: Path) -> Names:
    """The folder of a cluster whose owner is gone, with a process that still writes to it."""
    names = Names.fresh()
    names.node_folder(0).mkdir(parents=True)
    (names.folder / "cluster.json").write_text(json.dumps({"owner": 2**22 + 1, "started": 1}))
    return names


def test_orphans_are_told_from_running_clusters(leftover: Names) -> None:
    running = Names.fresh()
    running.folder.mkdir()
    record = {"owner": os.getpid(), "started": processes.started_at(os.getpid())}
    (running.folder / "cluster.json").write_text(json.dumps(record))
    assert orphans() == [leftover]


def test_a_start_removes_orphans_and_what_it_made_where_it_fails(
    leftover: Names, own_root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise KeyboardInterrupt

    cluster = LocalCluster([NodeSpec()], isolation="processes")
    monkeypatch.setattr(cluster, "add", fail)
    with pytest.raises(KeyboardInterrupt), cluster:
        pass
    assert list(own_root.iterdir()) == []


def test_what_still_runs_is_killed(leftover: Names) -> None:
    with (leftover.node_folder(0) / "log").open("w") as log:
        process = subprocess.Popen(["sleep", "60"], stdout=log)
    remove(leftover)
    assert process.wait(timeout=60) < 0
    assert not leftover.folder.exists()


@pytest.mark.skipif(OBSTACLE is not None, reason=f"{OBSTACLE}: run as root where `ip netns add` works")
def test_namespaces_and_bridge_are_made_and_removed() -> None:
    names, subnet = Names.fresh(), Subnet(200)
    try:
        for command in (*network.bridge_commands(names, subnet), *network.node_commands(names, subnet, 0)):
            network.run(command)
        assert names.node(0) in network.run(["ip", "netns", "list"])
        assert subnet.bridge in network.addresses_in_use()
        assert "dev eth0" in network.run(network.inside(names, 0, ["ip", "route", "get", subnet.bridge]))
        network.run(network.cut_command(names, 0))
        assert names.bridge not in network.run(["ip", "link", "show", names.host_interface(0)])
        network.run(network.restore_command(names, 0))
        assert names.bridge in network.run(["ip", "link", "show", names.host_interface(0)])
    finally:
        network.remove(names)
    assert names.node(0) not in network.run(["ip", "netns", "list"])
    assert subnet.bridge not in network.addresses_in_use()


def test_a_node_whose_start_fails_is_started_again(own_root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tried, joined = own_root / "tried", own_root / "joined"
    script = f"test -e {tried} && touch {joined} && exec sleep 60; touch {tried}; exit 1"
    cluster = LocalCluster([NodeSpec()], isolation="processes")
    cluster.names.folder.mkdir()
    node = LocalNode(cluster, 1, NodeSpec(), agent=1)
    cluster.nodes.append(node)
    monkeypatch.setattr(node, "_command", lambda: ["sh", "-c", script])
    monkeypatch.setattr(cluster, "alive", lambda: {"id": node.name} if joined.exists() else {})
    node.start()
    try:
        cluster.wait_for_nodes(1)
        assert tried.exists()
    finally:
        cluster.close()


def test_a_head_that_does_not_answer_is_asked_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """As on a machine with much else to do: Ray's client gives up within seconds."""
    answers = iter([RpcError("Timed out while waiting for GCS"), {}])

    def get_all_node_info(timeout: float) -> dict[object, object]:
        answer = next(answers)
        if isinstance(answer, RpcError):
            raise answer
        return answer

    cluster = LocalCluster([NodeSpec()], isolation="processes")
    monkeypatch.setitem(vars(cluster), "gcs", SimpleNamespace(get_all_node_info=get_all_node_info))
    cluster.wait_for_nodes(0)
    assert next(answers, None) is None
