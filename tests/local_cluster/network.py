"""Nodes with addresses of their own on one machine: network namespaces, each with a cable into one bridge."""

import ipaddress
import os
import shutil
import subprocess
from collections.abc import Iterable
from dataclasses import dataclass

from tests.local_cluster.naming import Names
from vtr_core.errors import ClusterError

INTERFACE = "eth0"
"""The name of every node's own end of its cable."""
MAX_NODES = 200

Command = list[str]


@dataclass(frozen=True)
class Subnet:
    """10.213.`number`.0/24: .1 is the bridge, which the machine itself answers at; node i is .(10 + i)."""

    number: int

    @property
    def bridge(self) -> str:
        """The machine's own address in the cluster's network."""
        return f"10.213.{self.number}.1"

    def node(self, index: int) -> str:
        """The address of node `index`."""
        return f"10.213.{self.number}.{10 + index}"


def free_subnet(taken: Iterable[str], first: int) -> Subnet:
    """The first subnet, counted from `first` on and around, that holds none of the addresses `taken`."""
    used = {ipaddress.ip_network(f"{address}/24", strict=False) for address in taken}
    for offset in range(256):
        subnet = Subnet((first + offset) % 256)
        if ipaddress.ip_network(f"{subnet.bridge}/24", strict=False) not in used:
            return subnet
    raise ClusterError("all of 10.213.0.0/16 is taken; remove old bridges with: ip link delete")


def bridge_commands(names: Names, subnet: Subnet) -> list[Command]:
    """Make the bridge."""
    return [
        ["ip", "link", "add", names.bridge, "type", "bridge"],
        ["ip", "address", "add", f"{subnet.bridge}/24", "dev", names.bridge],
        ["ip", "link", "set", names.bridge, "up"],
    ]


def node_commands(names: Names, subnet: Subnet, index: int) -> list[Command]:
    """Make a node's namespace, and plug its cable into the bridge."""
    namespace, outside = names.node(index), names.host_interface(index)
    inside = ["ip", "-n", namespace]
    return [
        ["ip", "netns", "add", namespace],
        ["ip", "link", "add", outside, "type", "veth", "peer", "name", INTERFACE, "netns", namespace],
        [*inside, "address", "add", f"{subnet.node(index)}/24", "dev", INTERFACE],
        [*inside, "link", "set", "lo", "up"],
        [*inside, "link", "set", INTERFACE, "up"],
        ["ip", "link", "set", outside, "master", names.bridge, "up"],
    ]


def cut_command(names: Names, index: int) -> Command:
    """Unplug a node from the bridge: what it sends and what is sent to it vanishes, as in a broken switch."""
    return ["ip", "link", "set", names.host_interface(index), "nomaster"]


def restore_command(names: Names, index: int) -> Command:
    """Plug it in again."""
    return ["ip", "link", "set", names.host_interface(index), "master", names.bridge]


def inside(names: Names, index: int, command: Command) -> Command:
    """`command`, run in a node's namespace."""
    return ["ip", "netns", "exec", names.node(index), *command]


def run(command: Command) -> str:
    """Run a command of `ip`; what it printed. ClusterError says what it complained of."""
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise ClusterError(f"{' '.join(command)} failed: {done.stderr.strip()}")
    return done.stdout


def addresses_in_use() -> list[str]:
    """The machine's addresses and the networks that it routes to."""
    words = f"{run(['ip', '-o', '-4', 'address'])} {run(['ip', '-4', 'route'])}".split()
    return [word.partition("/")[0] for word in words if word.startswith("10.213.")]


def why_no_namespaces() -> str | None:
    """What is missing for network namespaces on this machine, or None."""
    if shutil.which("ip") is None:
        return "the command ip (package iproute2) is not installed"
    if os.geteuid() != 0:
        return "network namespaces need root"
    probe = Names.fresh().node(0)
    try:
        run(["ip", "netns", "add", probe])
        run(["ip", "netns", "delete", probe])
    except ClusterError as error:
        return f"this machine allows none, even to root ({error})"
    return None


def remove(names: Names) -> None:
    """Remove the cluster's namespaces, with the cables that end in them, and its bridge; what is there of them."""
    for line in run(["ip", "netns", "list"]).splitlines():
        namespace = line.split()[0]
        if namespace.startswith(f"{names.cluster}-"):
            run(["ip", "netns", "delete", namespace])
    links = run(["ip", "-o", "link", "show", "type", "bridge"])
    if f" {names.bridge}:" in links:
        run(["ip", "link", "delete", names.bridge])
