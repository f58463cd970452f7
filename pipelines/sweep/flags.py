"""Flags of `vtr sweep`."""

from dataclasses import dataclass

from tune_spaces.points import SchedulerKind, SearchKind
from vtr_core.config.trackers import TrackerKind


@dataclass(frozen=True)
class SweepFlags:
    """Flags of `vtr sweep`. A setting given as --a.b value is fixed, not searched."""

    data: str
    """Training data set, or a folder with the splits train and val; --data A B joins several, as in vtr train."""
    data_weights: tuple[int, ...] = ()
    """How often an epoch passes over each data set of --data A B, as in 2 1 (default: once)."""
    validation: str | None = None
    """Validation data set, on which trials are compared (default: the split val beside train). Required."""
    concepts: str | None = None
    """Concept table made by vtr concepts, for models with a concept space (default: the folder concepts in --data)."""
    num_samples: int = 12
    """Number of trials; for a grid the maximum."""
    scheduler: SchedulerKind = "asha"
    """asha stops bad trials early; pbt (population-based training) continues them from better trials' weights with
    perturbed settings."""
    search: SearchKind | None = None
    """Search algorithm (default: optuna, with pbt random). A grid takes all choices and 3 values of each number."""
    max_concurrent: int | None = None
    """Maximum number of concurrent trials (default: as many as fit into the cluster)."""
    only: tuple[str, ...] = ()
    """Settings of the space that are searched (default: all); the others keep the preset's values."""
    search_seed: int = 0
    """Random seed of the search."""
    out: str | None = None
    """Sweep folder or URI, reachable from every node (default: runs/sweep-<space>-<time>)."""
    experiment: str = "vtr"
    """MLflow experiment."""
    also: tuple[TrackerKind, ...] = ()
    """Trackers beside MLflow: tensorboard (in each trial's folder), wandb (WANDB_MODE=offline without a network)."""
    json: bool = False
    """Print what was made as JSON, and everything else on standard error."""
    worker_logs: bool = False
    """Show the logs of Ray's workers."""
