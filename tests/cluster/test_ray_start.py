"""The commands that start Ray's nodes."""

from cluster.ray_start import NodeSpec, Ports, environment, free_ports, head_command, node_command


def test_the_head_has_the_ports_that_others_must_know() -> None:
    command = head_command(NodeSpec(cpus=3, object_store_mb=100), "vtr-x-0", "10.0.0.1", Ports(1, 2, 3, 4))
    assert {"--head", "--port=1", "--dashboard-port=2", "--dashboard-agent-listen-port=3"} <= set(command)
    assert {"--ray-client-server-port=4", "--num-cpus=3", "--object-store-memory=104857600"} <= set(command)
    assert "--dashboard-host=10.0.0.1" in command


def test_a_node_joins_the_head_under_its_own_name() -> None:
    command = node_command(NodeSpec(), "vtr-x-1", "10.0.0.2", "10.0.0.1:6379", agent=5)
    assert {"--address=10.0.0.1:6379", "--node-ip-address=10.0.0.2", "--node-name=vtr-x-1"} <= set(command)
    assert "--head" not in command
    assert "--block" in command


def test_a_node_offers_gpus_and_labels() -> None:
    spec = NodeSpec(gpus=2, labels={"vtr-role": "reading", "zone": "a"})
    command = node_command(spec, "vtr-x-1", "10.0.0.2", "10.0.0.1:6379", agent=5)
    assert {"--num-gpus=2", "--labels=vtr-role=reading,zone=a"} <= set(command)
    plain = node_command(NodeSpec(), "vtr-x-1", "10.0.0.2", "10.0.0.1:6379", agent=5)
    assert "--num-gpus=0" in plain
    assert not [word for word in plain if word.startswith("--labels")]


def test_free_ports_differ() -> None:
    assert len(set(free_ports(50))) == 50


def test_only_a_namespace_has_an_interface_of_its_own() -> None:
    assert environment("/tmp/x", namespaces=True)["GLOO_SOCKET_IFNAME"] == "eth0"
    assert "GLOO_SOCKET_IFNAME" not in environment("/tmp/x", namespaces=False)
    assert environment("/tmp/x", namespaces=False)["RAY_TMPDIR"] == "/tmp/x"
