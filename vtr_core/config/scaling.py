"""Workers, and what each of them takes of the cluster."""

from typing import Annotated, Literal

from pydantic import Field, PositiveFloat, model_validator

from vtr_core.config.settings import NonNegativeInt, PositiveInt, Settings

ReadingNodes = Literal["auto", "labelled", "any"]
Wire = Literal["as_computed", "bf16"]


NumWorkers = Annotated[int, Field(gt=0, le=2**16)]


class ScalingConfig(Settings):
    """Workers and what each of them takes of the cluster."""

    workers: Annotated[int, Field(ge=0, le=2**16)] = 1
    """Number of training workers, among which the batch is divided. 0: train in the process of the command, without
    Ray."""
    min_workers: NumWorkers | None = None
    """Minimum number of workers with which the run continues when nodes leave; it grows again, up to `workers`, when
    they return (None: no resizing). The batch stays the same: only divisors of its rows are used. Dropout differs with
    the number."""
    device: Literal["auto", "cpu", "gpu"] = "auto"
    """`auto`: one GPU per worker where the cluster has GPUs."""
    cpus_per_worker: PositiveFloat = 1.0
    """CPUs reserved for a train worker."""
    reading_cpus: PositiveFloat = 1.0
    """CPUs that must remain free for Ray Data's reading tasks, on the nodes that `reading_nodes` allows."""
    reading_nodes: ReadingNodes = "auto"
    """Placement of reading tasks. `labelled`: on nodes labelled vtr-role=reading (`ray start --labels
    vtr-role=reading`), workers on the others. `any`: on any free CPUs. `auto`: as `labelled` where the cluster has such
    nodes when a worker group starts, else as `any`; the run prints its choice."""
    prefetch_batches: PositiveInt = 2
    """Minimum number of batches prefetched by every worker, in whole windows (batch.window)."""
    max_restarts: NonNegativeInt = 3
    """Maximum number of consecutive restarts from the same checkpoint after a lost worker or node. Restarts for a
    preempted node or for more workers do not count."""
    resources_timeout_s: PositiveFloat = 1800.0
    """Timeout of a run that has lost its workers and waits for resources; at its start a run waits without limit."""
    collective_timeout_s: PositiveFloat = 600.0
    """Timeout of collectives in a step, after which silent workers count as lost."""
    wire: Wire = "as_computed"
    """What embeddings and gradients are sent between workers in. `bf16`: half the bytes of float32; they are rounded,
    gradients summed in bf16 too, so that several workers no longer give exactly the losses of one."""
    resize_interval_s: PositiveFloat = 60.0
    """Minimum time that a group with fewer than `workers` workers trains before it is restarted with more."""

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
        """The number of workers as text: 4, or 1-4."""
        return str(self.workers) if self.fewest == self.workers else f"{self.fewest}-{self.workers}"

    @model_validator(mode="after")
    def _min_is_not_above(self) -> "ScalingConfig":
        if self.fewest > self.workers:
            raise ValueError(
                f"scaling.min_workers = {self.min_workers} is more than scaling.workers = {self.workers}; "
                "scaling.workers is the largest number of workers"
            )
        return self
