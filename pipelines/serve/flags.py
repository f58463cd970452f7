"""Flags of `vtr serve`."""

from dataclasses import dataclass

import tyro


@dataclass(frozen=True)
class ServeFlags:
    """Flags of `vtr serve`."""

    index: str = tyro.MISSING
    """Index made by vtr index."""
    checkpoint: str | None = None
    """Checkpoint of the model, if it is no longer where the index says."""
    host: str = "127.0.0.1"
    """Address to listen on; anything but the loopback address admits other machines and needs --token."""
    port: int = 8000
    """Port to listen on; 0 takes a free one."""
    token: str | None = None
    """Secret that every request must carry (default: the variable VTR_SERVE_TOKEN, else none)."""
    rate: float = 20.0
    """Searches and explanations per second and client address, with bursts of twice as many; 0 is no limit."""
    ray: bool = False
    """Search on Ray Serve: in this machine's new cluster, or in that of RAY_ADDRESS."""
    replicas: int = 1
    """With --ray: processes that search each shard."""
    shards: int = 1
    """With --ray: parts of the index, each in processes of its own; models with one joint space."""
