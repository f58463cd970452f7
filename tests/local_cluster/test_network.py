"""Addresses do not collide, and the commands of `ip` name only the cluster's own things."""

import pytest

from tests.local_cluster.naming import Names
from tests.local_cluster.network import (
    Subnet,
    bridge_commands,
    cut_command,
    free_subnet,
    node_commands,
    restore_command,
    run,
)
from vtr_core.errors import ClusterError

NAMES, SUBNET = Names("0123abcd"), Subnet(7)


def test_addresses_of_nodes_differ() -> None:
    addresses = [SUBNET.bridge, *(SUBNET.node(index) for index in range(200))]
    assert len(set(addresses)) == 201
    assert addresses[1] == "10.213.7.10"


def test_a_subnet_in_use_is_passed_over() -> None:
    assert free_subnet([], first=7) == Subnet(7)
    assert free_subnet(["10.213.7.1", "10.213.8.0", "192.168.0.1"], first=7) == Subnet(9)
    assert free_subnet([f"10.213.{number}.9" for number in range(3, 256)], first=7) == Subnet(0)
    with pytest.raises(ClusterError, match="ip link delete"):
        free_subnet([f"10.213.{number}.1" for number in range(256)], first=7)


def test_commands_name_the_clusters_own_things() -> None:
    commands = [*bridge_commands(NAMES, SUBNET), *node_commands(NAMES, SUBNET, 1)]
    commands += [cut_command(NAMES, 1), restore_command(NAMES, 1)]
    assert all(any(NAMES.suffix in word for word in command) for command in commands)
    assert ["ip", "netns", "add", "vtr-0123abcd-1"] in commands
    assert ["ip", "-n", "vtr-0123abcd-1", "address", "add", "10.213.7.11/24", "dev", "eth0"] in commands


def test_a_cut_cable_is_the_nodes_own() -> None:
    assert cut_command(NAMES, 1) == ["ip", "link", "set", "v0123abcd-1", "nomaster"]
    assert restore_command(NAMES, 1) == ["ip", "link", "set", "v0123abcd-1", "master", "vtr0123abcd"]


def test_a_command_that_fails_says_what_was_wrong() -> None:
    with pytest.raises(ClusterError, match=r"sh -c .* failed: no such bridge"):
        run(["sh", "-c", "echo no such bridge >&2; exit 1"])
