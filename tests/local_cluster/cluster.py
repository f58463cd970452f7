"""A real Ray cluster of several nodes on one Linux machine: nodes can be killed, cut off and drained.

Isolation `namespaces` (needs root): every node has its own network namespace, with an address of its own and a cable
to a bridge, which can be cut. Isolation `processes`: every node is a set of processes with ports of its own. Files are
shared in both, as on a cluster with a network file system. Whatever is made carries the cluster's name and is removed
at the end; what tests that were killed have left is removed when the next cluster starts.
"""

import json
import os
import shutil
import socket
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import cached_property
from types import TracebackType
from typing import Any, Literal

from tests.local_cluster import network, processes, ray_start, ray_state
from tests.local_cluster.naming import RECORD, Names, existing
from tests.local_cluster.network import Subnet
from tests.local_cluster.ray_start import Command, NodeSpec, Ports
from vtr_core.errors import ClusterError
from vtr_core.limits import RAY

Isolation = Literal["auto", "namespaces", "processes"]


class LocalNode:
    """One node: what can happen to it. Node 0 is the head."""

    def __init__(self, cluster: "LocalCluster", index: int, spec: NodeSpec, agent: int) -> None:
        self._cluster, self._agent, self.index, self.spec = cluster, agent, index, spec
        self.name = cluster.names.node(index)
        self.address = cluster.subnet.node(index) if cluster.subnet else "127.0.0.1"
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def node_id(self) -> str:
        """Ray's identifier of the node as it runs now; ClusterError where Ray does not count it among the living."""
        for node_id, name in self._cluster.alive().items():
            if name == self.name:
                return node_id
        raise ClusterError(f"Ray does not count {self.name} among its living nodes")

    def pids(self) -> set[int]:
        """The node's processes."""
        if self._cluster.subnet:
            return processes.in_namespace(self.name) & processes.parents().keys()
        return processes.with_files_in(self._cluster.names.node_folder(self.index)) & processes.parents().keys()

    def start(self) -> None:
        """Start the node's Ray, without waiting for it to join."""
        folder = self._cluster.names.node_folder(self.index)
        folder.mkdir(exist_ok=True)
        with (folder / "start.log").open("ab") as log:
            self._process = self.popen(self._command(), stdout=log, stderr=log, stdin=subprocess.DEVNULL)

    def popen(self, command: Sequence[str], environment: Mapping[str, str] | None = None, **kwargs: Any) -> Any:
        """Start a command on the node, in a session of its own, and return its Popen."""
        words = list(command)
        if self._cluster.subnet:
            words = network.inside(self._cluster.names, self.index, words)
        env = {**os.environ, **self._cluster.environment(self.index), **(environment or {})}
        return subprocess.Popen(words, env=env, start_new_session=True, **kwargs)

    def kill(self) -> None:
        """SIGKILL every process of the node, and no other, as when the machine loses its power."""
        processes.end(self.pids)
        if self._process is not None:
            self._process.wait()
            self._process = None

    def restart(self) -> None:
        """Start the node anew, after killing what is left of it, and wait until Ray counts it in."""
        if self.index == 0:
            raise ClusterError("the head holds the cluster's state and cannot be restarted; start another cluster")
        before = set(self._cluster.alive())
        self.kill()
        self.start()
        self._cluster.wait_to_join(lambda: any(n not in before and name == self.name for n, name in self._alive()))

    def start_again_if_ended(self) -> None:
        """Start anew a node whose Ray has ended by itself: on a busy machine Ray gives up a start after 30 s."""
        if self._process is not None and self._process.poll() is not None:
            self.kill()
            self._cluster.forget_head()  # a client that has spoken to the first head is refused by a second
            self.start()

    def cut_network(self) -> None:
        """Cut the node off from all others and from the machine, until `restore_network`."""
        self._needs_namespaces()
        network.run(network.cut_command(self._cluster.names, self.index))

    def restore_network(self) -> None:
        """Undo `cut_network`. A node that Ray has given up by then ends itself: `restart` it."""
        self._needs_namespaces()
        network.run(network.restore_command(self._cluster.names, self.index))

    def drain(self, deadline_s: float = 60.0) -> None:
        """Give notice that the node will be taken away in `deadline_s` seconds, as a cloud does with a spot machine."""
        why_not = ray_state.drain(self._cluster.gcs, self.node_id, int((time.time() + deadline_s) * 1000))
        if why_not is not None:
            raise ClusterError(f"Ray refuses to drain {self.name}: {why_not}")

    def _alive(self) -> list[tuple[str, str]]:
        return list(self._cluster.alive().items())

    def _command(self) -> Command:
        ports = self._cluster.ports
        if self.index == 0:
            return ray_start.head_command(self.spec, self.name, self.address, ports)
        return ray_start.node_command(self.spec, self.name, self.address, self._cluster.address, self._agent)

    def _needs_namespaces(self) -> None:
        if self._cluster.subnet is None:
            raise ClusterError(
                "only a node with a network namespace can be cut off; this cluster's nodes share one network "
                "(isolation 'processes'): run as root, with isolation='namespaces'"
            )


class LocalCluster:
    """A context manager: the cluster runs inside, with everything that it made removed at the end.

    isolation: `auto` takes namespaces where this machine allows them, else processes.
    environment: variables of every process of every node, beside those that make Ray notice faults quickly.
    """

    def __init__(
        self,
        nodes: Sequence[NodeSpec] = (NodeSpec(), NodeSpec()),
        isolation: Isolation = "auto",
        environment: Mapping[str, str] | None = None,
    ) -> None:
        if not 1 <= len(nodes) <= network.MAX_NODES:
            raise ClusterError(f"a local cluster has 1 to {network.MAX_NODES} nodes, {len(nodes)} were asked for")
        obstacle = None if isolation == "processes" else network.why_no_namespaces()
        if isolation == "namespaces" and obstacle:
            raise ClusterError(f"no network namespaces: {obstacle}; use isolation 'processes'")
        self.isolation = "processes" if isolation == "processes" or obstacle else "namespaces"
        self.names = Names.fresh()
        self.subnet: Subnet | None = None
        self.ports = Ports()
        self.nodes: list[LocalNode] = []
        self._specs, self._environment = list(nodes), dict(environment or {})

    @property
    def address(self) -> str:
        """What RAY_ADDRESS is set to: host and port of the head."""
        return f"{self.nodes[0].address}:{self.ports.gcs}"

    @property
    def dashboard_url(self) -> str:
        """The dashboard, which also takes jobs: `ray job submit --address URL -- command`."""
        return f"http://{self.nodes[0].address}:{self.ports.dashboard}"

    @cached_property
    def gcs(self) -> Any:
        """A client of the head's state, which needs no connected driver."""
        os.environ.setdefault("RAY_AUTH_MODE", "disabled")
        return ray_state.head_state(self.address)

    def forget_head(self) -> None:
        """Ask the head with a new client from now on."""
        self.__dict__.pop("gcs", None)

    def __enter__(self) -> "LocalCluster":
        try:
            self._start()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def add(self, spec: NodeSpec) -> LocalNode:
        """Add a node and start it; `wait_for_nodes` waits until it has joined."""
        index = len(self.nodes)
        if self.subnet is not None:
            for command in network.node_commands(self.names, self.subnet, index):
                network.run(command)
        agent = self.ports.agent if index == 0 or self.subnet else ray_start.free_ports(1)[0]
        node = LocalNode(self, index, spec, agent)
        self.nodes.append(node)
        node.start()
        return node

    def environment(self, index: int) -> dict[str, str]:
        """What the processes of a node find in their environment beside this process's."""
        quick = ray_start.environment(str(self.names.node_folder(index)), self.subnet is not None)
        return {**quick, **self._environment}

    def alive(self) -> dict[str, str]:
        """The nodes that Ray counts among the living: {node id: name}."""
        return ray_state.living_nodes(self.gcs)

    def wait_for_nodes(self, count: int) -> None:
        """Return when Ray counts `count` living nodes."""
        self.wait_to_join(lambda: len(self.alive()) == count)

    def wait_to_join(self, condition: Callable[[], bool]) -> None:
        """`wait_for` a condition that holds when nodes have joined; one whose start fails is started again."""

        def joined() -> bool:
            for node in self.nodes:
                node.start_again_if_ended()
            return condition()

        self.wait_for(joined)

    def wait_for(self, condition: Callable[[], bool]) -> None:
        """Return when `condition` holds; what Ray cannot answer yet does not. ClusterError after VTR_RAY_PATIENCE_S."""
        patience_s = RAY.seconds()
        deadline = time.monotonic() + patience_s
        while not _holds(condition):
            if time.monotonic() > deadline:
                waited = f"after {patience_s:g} s ({RAY.variable})"
                raise ClusterError(f"{self.names.cluster} is not as awaited {waited}; {self._last_words()}")
            time.sleep(0.2)

    def popen(self, command: Sequence[str], environment: Mapping[str, str] | None = None, **kwargs: Any) -> Any:
        """Start a command on the head, with RAY_ADDRESS set, and return its Popen."""
        return self.nodes[0].popen(command, {"RAY_ADDRESS": self.address, **(environment or {})}, **kwargs)

    def close(self) -> None:
        """Kill all nodes and remove everything that the cluster made."""
        self.forget_head()
        for node in reversed(self.nodes):
            node.kill()
        remove(self.names)

    def _start(self) -> None:
        for left in orphans():
            with suppress(ClusterError):  # another process removes it, too
                remove(left)
        self.names.folder.mkdir()
        record = {"owner": os.getpid(), "started": processes.started_at(os.getpid()), "isolation": self.isolation}
        (self.names.folder / "part").write_text(json.dumps(record))
        (self.names.folder / "part").rename(self.names.folder / RECORD)
        if self.isolation == "namespaces":
            self.subnet = network.free_subnet(network.addresses_in_use(), first=int(self.names.suffix[:2], 16))
            for command in network.bridge_commands(self.names, self.subnet):
                network.run(command)
        else:
            self.ports = Ports(*ray_start.free_ports(4))
        self.add(self._specs[0])
        self.wait_for(self._head_listens)
        self.wait_for_nodes(1)
        for spec in self._specs[1:]:
            self.add(spec)
        self.wait_for_nodes(len(self._specs))
        self.wait_for(self._takes_jobs)

    def _head_listens(self) -> bool:
        """Ray's own client would wait for long at a head that is not up."""
        with socket.create_connection((self.nodes[0].address, self.ports.gcs), timeout=5):
            return True

    def _takes_jobs(self) -> bool:
        from urllib.request import ProxyHandler, build_opener

        direct = build_opener(ProxyHandler({}))
        with direct.open(f"{self.dashboard_url}/api/jobs/", timeout=5) as answer:
            return answer.status == 200

    def _last_words(self) -> str:
        logs = [self.names.node_folder(node.index) / "start.log" for node in self.nodes]
        lines = [line for log in logs if log.exists() for line in log.read_text(errors="replace").splitlines()[-3:]]
        return "the nodes said last: " + (" | ".join(lines) or "nothing")


def orphans() -> list[Names]:
    """The clusters on this machine whose owner, the process that started them, is gone."""
    return [names for names in existing() if not _has_owner(names)]


def _has_owner(names: Names) -> bool:
    try:
        record = json.loads((names.folder / RECORD).read_text())
    except FileNotFoundError:  # it is being removed
        return True
    return processes.started_at(record["owner"]) == record["started"]


def remove(names: Names) -> None:
    """Kill what runs in a cluster and remove its namespaces, bridge and files; what is there of them."""
    processes.end(lambda: processes.with_files_in(names.folder) & processes.parents().keys() - {os.getpid()})
    if shutil.which("ip") is not None and os.geteuid() == 0:
        network.remove(names)
    shutil.rmtree(names.folder, ignore_errors=True)


def _holds(condition: Callable[[], bool]) -> bool:
    try:
        return condition()
    except (OSError, ClusterError, RuntimeError):  # Ray is not up yet
        return False
