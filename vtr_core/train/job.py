"""A training run as its workers get it: the job, the provenance of its checkpoints, a worker's context, stops."""

import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import FrameType
from typing import Any, Literal, Protocol, runtime_checkable

import torch
from torch import nn

from vtr_core.config.data_sets import OnBadShard
from vtr_core.config.run import TrainConfig
from vtr_core.data.manifest import Manifest
from vtr_core.data.plan import Part, Plan
from vtr_core.data.reading.row_groups import Columns, RowGroupReader
from vtr_core.errors import Interrupted
from vtr_core.extraction.features import extraction_of
from vtr_core.systems.system import Systems
from vtr_core.tracking.run import TrackedRun
from vtr_core.train.checkpoint.run_folder import RunFolder, RunRecord


@dataclass(frozen=True)
class Job:
    """The inputs of every worker, from the driver."""

    config: TrainConfig
    systems: Systems
    """Those among which the systems of checkpoints are looked for."""
    run: str
    data: str
    validation: str | None
    tracked: TrackedRun | None
    provenance: dict[str, str]
    lease: int
    """The driver's right to write the run folder: see vtr_core.train.fleet.lease."""
    concepts: str | None = None
    """The concept table, of a model with a concept space."""
    init: str | None = None
    """The model whose weights a new run starts from; None: freshly drawn ones."""

    @classmethod
    def of(
        cls,
        folder: RunFolder,
        record: RunRecord,
        config: TrainConfig,
        systems: Systems,
        tracked: TrackedRun | None,
        provenance: dict[str, str],
        lease: int,
    ) -> "Job":
        """The job of a run folder with this record."""
        places = record.data, record.validation
        inputs = record.concepts, record.init
        return cls(config, systems, folder.location.uri, *places, tracked, provenance, lease, *inputs)


def total_steps(config: TrainConfig, plan: Plan) -> int:
    """Optimiser steps of a whole run."""
    steps = config.training.epochs * plan.steps_per_epoch
    return min(steps, config.training.max_steps or steps)


def checkpoint_provenance(job: Job, data: Manifest) -> dict[str, Any]:
    """The provenance of a run's checkpoints: code, versions, data, how its features are extracted, the MLflow run."""
    run = {"mlflow.run_id": job.tracked.run_id, "mlflow.tracking_uri": job.tracked.store} if job.tracked else {}
    source = {"data": job.data, "data.fingerprint": data.fingerprint}
    further = {"extraction": extraction_of(data.source), "init": job.init}
    return {**job.provenance, **run, **source, **{name: value for name, value in further.items() if value}}


Report = dict[str, Any]
"""A logged point, or, with the key "event", something that happened."""
Reason = Literal["interrupted", "preempted", "resized"]
"""Why workers are asked to save and end: a signal, a node preemption, resources for more workers."""
Stream = Callable[[RowGroupReader, Plan, Part, int, int, OnBadShard], Iterator[Columns]]
"""The batches of a part from a step on, with prefetching: `vtr_core.data.stream.reading.stream`."""


@runtime_checkable
class StopRequest(Protocol):
    """A request to end the run."""

    def requested(self) -> bool:
        """Whether a stop was requested by now."""

    def reason(self) -> Reason:
        """Why it was requested."""


@runtime_checkable
class DriverChannel(Protocol):
    """A worker's way to the driver."""

    def report(self, report: Report) -> None:
        """Send a report to the driver."""

    def watch(self) -> StopRequest:
        """The driver's request to stop."""


@dataclass(frozen=True)
class WorkerContext:
    """Worker `rank` of `world`."""

    rank: int
    world: int
    device: torch.device
    channel: DriverChannel
    stream: Stream
    distribute: Callable[[nn.Module], nn.Module]
    """Moves a model to the device and wraps it so that all workers' gradients are averaged."""
    clock: Callable[[], float] = time.monotonic
    """Seconds, for checkpoints by time."""


_SIGNALS = (signal.SIGINT, signal.SIGTERM)


@contextmanager
def graceful(request_stop: Callable[[], None]) -> Iterator[None]:
    """Call `request_stop` at the first signal within the context, and raise Interrupted once the body has ended for it.

    A second signal raises Interrupted wherever the code is. Outside of the main thread, which alone gets signals,
    nothing is done.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    received: list[int] = []

    def handle(number: int, frame: FrameType | None) -> None:  # noqa: ARG001
        received.append(number)
        if len(received) > 1:
            raise Interrupted(number)
        print("stopping after this step, with a checkpoint; a second signal stops at once", file=sys.stderr)  # noqa: T201
        request_stop()

    before = {number: signal.signal(number, handle) for number in _SIGNALS}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    if received:
        raise Interrupted(received[0])
