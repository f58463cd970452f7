"""A cluster of several Ray nodes on this machine, to try out faults, placement and submitted jobs.

python -m cluster.rehearse --nodes 3 --cpus 2      prints how to use them and how to lose one; Ctrl-C ends them
"""

import argparse
import os
import secrets
import signal
import sys
from collections.abc import Sequence
from typing import Any

from vtr_core.ray_private import NO_PRESTART, forget

OBJECT_STORE = 300 * 2**20
"""Bytes of object store in /dev/shm per node."""


def main(argv: Sequence[str]) -> None:
    """Start the nodes, print how to use them, and wait for Ctrl-C (SIGINT) or SIGTERM.

    What a script starts in the background (``python -m cluster.rehearse &``) inherits an ignored SIGINT, which Python
    leaves ignored: its handler is set here, so that the nodes can be ended there, too.
    """
    signal.signal(signal.SIGINT, signal.default_int_handler)
    parser = argparse.ArgumentParser(prog="python -m cluster.rehearse", description=__doc__.splitlines()[0])
    parser.add_argument("--nodes", type=int, default=2, help="nodes, the head among them")
    parser.add_argument("--cpus", type=int, default=2, help="logical CPUs of each node, which need not be there")
    chosen = parser.parse_args(argv)
    os.environ.update(NO_PRESTART, RAY_AUTH_MODE="token", RAY_AUTH_TOKEN=secrets.token_hex(16))
    try:
        rehearse(chosen.nodes, chosen.cpus)
    except KeyboardInterrupt:
        print("\nended", flush=True)


def rehearse(nodes: int, cpus: int) -> None:
    """Run a cluster until a signal arrives."""
    from ray.cluster_utils import Cluster

    each: dict[str, Any] = {"num_cpus": cpus, "object_store_memory": OBJECT_STORE}
    cluster = Cluster(initialize_head=True, head_node_args={**each, "include_dashboard": True})
    try:
        others = [cluster.add_node(**each) for _ in range(nodes - 1)]
        raylets = [node.all_processes["raylet"][0].process.pid for node in others]
        print(instructions(cluster.address, os.environ["RAY_AUTH_TOKEN"], cluster.webui_url, raylets, cpus), flush=True)
        signal.signal(signal.SIGTERM, lambda number, _: sys.exit(128 + number))  # Ray's own handler waits for draining
        while True:
            signal.pause()
    finally:
        for node in cluster.list_all_nodes():
            node.kill_all_processes(check_alive=False, allow_graceful=False)
        forget(cluster.address)


def instructions(address: str, token: str, dashboard: str, raylets: Sequence[int], cpus: int) -> str:
    """Instructions for submitting to the cluster from another terminal, and for losing and adding a node."""
    return f"""\
head {address}, dashboard http://{dashboard}; {len(raylets) + 1} nodes of {cpus} CPUs

    export RAY_ADDRESS={address} RAY_AUTH_MODE=token RAY_AUTH_TOKEN={token}

submit a job     vtr submit --address http://{dashboard} -- train … --out /a/folder
run on the head  vtr train …
lose a node      kill -9 PID, with one of {" ".join(map(str, raylets)) or "none: --nodes 2"}
add one          ray start --address {address} --num-cpus {cpus}

Ctrl-C ends all."""


if __name__ == "__main__":
    main(sys.argv[1:])
