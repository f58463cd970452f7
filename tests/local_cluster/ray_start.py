"""The commands and the environment that start Ray's nodes, many of them on one machine."""

import socket
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field

from tests.local_cluster.network import INTERFACE
from tests.undisturbed import UNDISTURBED
from vtr_core import ray_private

Command = list[str]
RAY: Command = [sys.executable, "-m", "ray.scripts.scripts"]
"""The command `ray` of this Python."""
QUICK_FAULTS = {
    "RAY_health_check_initial_delay_ms": "2000",
    "RAY_health_check_period_ms": "1000",
    "RAY_health_check_timeout_ms": "3000",
    "RAY_health_check_failure_threshold": "3",
    "RAY_TRAIN_HEALTH_CHECK_INTERVAL_S": "1",
    "RAY_TRAIN_WORKER_GROUP_START_TIMEOUT_S": "20",
    "RAY_TRAIN_WORKER_HEALTH_CHECK_TIMEOUT_S": "30",
}
"""A node that does not answer is given up after about ten seconds. Without them faults take minutes to show."""


@dataclass(frozen=True)
class NodeSpec:
    """What a node offers."""

    cpus: int = 2
    """Logical CPUs; they need not be there."""
    object_store_mb: int = 300
    """Shared memory for Ray's objects; all nodes share the machine's /dev/shm."""
    gpus: int = 0
    """Logical GPUs; they need not be there either, as long as nothing computes on them."""
    labels: Mapping[str, str] = field(default_factory=dict)
    """What tasks may ask of a node, such as vtr-role=reading."""


@dataclass(frozen=True)
class Ports:
    """The ports of a head that other processes must know."""

    gcs: int = 6379
    dashboard: int = 8265
    agent: int = 52365
    client: int = 10001


def free_ports(count: int) -> list[int]:
    """Ports that nothing listens at, all different."""
    sockets = [socket.socket() for _ in range(count)]
    try:
        for each in sockets:
            each.bind(("127.0.0.1", 0))
        return [each.getsockname()[1] for each in sockets]
    finally:
        for each in sockets:
            each.close()


def head_command(spec: NodeSpec, name: str, address: str, ports: Ports) -> Command:
    """Start the head: the node that holds the cluster's state, the dashboard and the drivers of submitted jobs."""
    return [
        *RAY,
        "start",
        "--head",
        f"--port={ports.gcs}",
        f"--dashboard-host={address}",
        f"--dashboard-port={ports.dashboard}",
        f"--ray-client-server-port={ports.client}",
        *_node_flags(spec, name, address, ports.agent),
    ]


def node_command(spec: NodeSpec, name: str, address: str, head: str, agent: int) -> Command:
    """Start another node of the cluster whose head answers at `head` (host:port)."""
    return [*RAY, "start", f"--address={head}", *_node_flags(spec, name, address, agent)]


def _node_flags(spec: NodeSpec, name: str, address: str, agent: int) -> Command:
    return [
        f"--node-ip-address={address}",
        f"--node-name={name}",
        f"--dashboard-agent-listen-port={agent}",
        f"--num-cpus={spec.cpus}",
        f"--num-gpus={spec.gpus}",
        *([f"--labels={','.join(f'{key}={value}' for key, value in spec.labels.items())}"] if spec.labels else []),
        f"--object-store-memory={spec.object_store_mb << 20}",
        "--disable-usage-stats",
        "--block",
    ]


def environment(temporary: str, namespaces: bool) -> dict[str, str]:
    """What every process of a node finds in its environment, drivers too.

    Failures show within seconds: a node that does not answer is given up after about ten. With namespaces gloo has to
    be told the interface, since the host's name does not lead to it.
    """
    own = {
        "RAY_TMPDIR": temporary,
        "RAY_AUTH_MODE": "disabled",
        ray_private.KEEP_DEVICES: "0",
        **ray_private.NO_PRESTART,
        **UNDISTURBED,
        **QUICK_FAULTS,
        ray_private.STOP_WAIT: "60",
    }
    return {**own, "GLOO_SOCKET_IFNAME": INTERFACE} if namespaces else own
