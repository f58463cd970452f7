"""Workers, and what each of them takes of the cluster."""

from typing import Annotated, Literal

from pydantic import Field, PositiveFloat, model_validator

from vtr_core.config.settings import NonNegativeInt, PositiveInt, Settings

ReadingNodes = Literal["auto", "labelled", "any"]


NumWorkers = Annotated[int, Field(gt=0, le=2**16)]


class ScalingConfig(Settings):
    """Workers and what each of them takes of the cluster."""

    workers: Annotated[int, Field(ge=0, le=2**16)] = 1
    """Train workers; the batch is divided among them. 0: train in the process of the command, without Ray."""
    min_workers: NumWorkers | None = None
    """Go on with as few as this when nodes leave, and with more again, up to `workers`, when they return (None: never).
    The batch stays whole: only numbers of workers that divide its rows are used. Dropout differs with their number."""
    device: Literal["auto", "cpu", "gpu"] = "auto"
    """`auto`: one GPU per worker where the cluster has GPUs."""
    cpus_per_worker: PositiveFloat = 1.0
    """CPUs reserved for a train worker."""
    reading_cpus: PositiveFloat = 1.0
    """CPUs that must remain free for Ray Data's reading tasks, on the nodes that `reading_nodes` allows."""
    reading_nodes: ReadingNodes = "auto"
    """Where reading tasks run. `labelled`: only on nodes with the label vtr-role=reading (`ray start --labels
    vtr-role=reading`), and workers only on the others. `any`: wherever CPUs are free. `auto`: as `labelled` where the
    cluster has such nodes when a group of workers begins, else as `any`; the run says which."""
    prefetch_batches: PositiveInt = 2
    """Batches fetched ahead by every worker, at least; they come in whole windows (batch.window)."""
    max_restarts: NonNegativeInt = 3
    """Restarts in a row from the same checkpoint after a lost worker or node; a new checkpoint renews them. Restarts
    for a node that is taken away with notice, or for more workers, do not count."""
    resources_timeout_s: PositiveFloat = 1800.0
    """How long a run that has lost its workers waits for room to go on; at its beginning it waits without end."""
    collective_timeout_s: PositiveFloat = 600.0
    """How long workers wait for each other in one step before the silent ones count as lost."""
    resize_interval_s: PositiveFloat = 60.0
    """How long a group of fewer than `workers` goes on at least, before it ends to take in more."""

    @property
    def fewest(self) -> int:
        """The fewest workers that the run goes on with."""
        return self.workers if self.min_workers is None else self.min_workers

    @property
    def cpus(self) -> float:
        """CPUs of a cluster that a run takes, reading included; without Ray's workers its own process reads."""
        return self.workers * self.cpus_per_worker + self.reading_cpus if self.workers else self.cpus_per_worker

    @property
    def span(self) -> str:
        """The numbers of workers for people: 4, or 1-4."""
        return str(self.workers) if self.fewest == self.workers else f"{self.fewest}-{self.workers}"

    @model_validator(mode="after")
    def _min_is_not_above(self) -> "ScalingConfig":
        if self.fewest > self.workers:
            raise ValueError(
                f"scaling.min_workers = {self.min_workers} is more than scaling.workers = {self.workers}; "
                "scaling.workers is the largest number of workers"
            )
        return self
