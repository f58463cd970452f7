"""Flags of `vtr embed`."""

from dataclasses import dataclass
from typing import Annotated

import tyro


@dataclass(frozen=True)
class EmbedFlags:
    """Flags of `vtr embed`."""

    checkpoint: Annotated[str, tyro.conf.Positional]
    """Checkpoint folder, run folder (its best checkpoint is used), or registered model, models:/NAME@ALIAS."""
    data: str
    """Data set that the model reads."""
    out: str
    """Output folder or URI; the same command again resumes an interrupted one."""
    workers: int | None = None
    """0: in this process, without Ray. Otherwise a Ray Data job of at most so many copies of the model (default: as
    many as the cluster has room for)."""
    gpus_per_model: float = 1.0
    """GPUs per copy of the model, where the cluster has any; 0 computes on CPUs."""
    worker_logs: bool = False
    """Show the logs of Ray's workers."""
