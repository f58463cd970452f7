"""A training run as its driver passes it to every worker, and its number of steps."""

from dataclasses import dataclass

from vtr_core.data.plan.plan import Plan
from vtr_core.run.config import TrainConfig
from vtr_core.tracking.run import TrackedRun


@dataclass(frozen=True)
class Job:
    """The inputs of every worker, from the driver."""

    config: TrainConfig
    run: str
    data: str
    validation: str | None
    tracked: TrackedRun | None
    provenance: dict[str, str]
    lease: int
    """The driver's right to write the run folder: see vtr_core.train.fleet.lease."""
    system_s: float | None = None
    """Seconds between two samples of the first worker's machine for the log; None for none."""
    concepts: str | None = None
    """The concept table, of a model with a concept space."""
    init: str | None = None
    """The model whose weights a new run starts from; None: freshly drawn ones."""
    pauses: bool = False
    """Whether the group ends after every validation, for a driver that decides only then how the run goes on."""
    profile: bool = False
    """Whether the first worker profiles a few steps."""


def total_steps(config: TrainConfig, plan: Plan) -> int:
    """Optimiser steps of a whole run."""
    steps = config.training.epochs * plan.steps_per_epoch
    return min(steps, config.training.max_steps or steps)
