"""What the head of a cluster knows of its nodes, asked without being connected to it."""

from typing import Any

from vtr_core.errors import ClusterError


def head_state(address: str) -> Any:
    """A client of the state that the head at `address` (host:port) holds."""
    from ray import _raylet

    return vars(_raylet)["GcsClient"](address=address)


def living_nodes(head: Any) -> dict[str, str]:
    """{node id: name} of the nodes that a head counts among the living; ClusterError where it does not answer."""
    from ray.exceptions import RayError

    try:
        found = head.get_all_node_info(timeout=5)
    except RayError as error:
        raise ClusterError(f"the head does not answer: {error}") from error
    return {node_id.hex(): info.node_name for node_id, info in found.items() if info.state == 0}


def drain(head: Any, node_id: str, deadline_ms: int) -> str | None:
    """Give notice, as a cloud does, that a node will be taken away at a Unix time; why it was refused, if it was."""
    from ray.core.generated import autoscaler_pb2

    reason = vars(autoscaler_pb2)["DRAIN_NODE_REASON_PREEMPTION"]
    accepted, why_not = head.drain_node(node_id, reason, "rehearsal", deadline_ms)
    return None if accepted else str(why_not)
