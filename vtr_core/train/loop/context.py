"""The context of a worker: rank, device, and functions for reading, distributing the model and reporting."""

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Literal, Protocol, runtime_checkable

import torch
from torch import nn

from vtr_core.config.shards import OnBadShard
from vtr_core.data.plan.plan import Part, Plan
from vtr_core.data.reading.row_groups import Columns, RowGroupReader

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
