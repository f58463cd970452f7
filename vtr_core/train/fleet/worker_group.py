"""Ray Train's workers of a run: their loop, messages to and from the driver, faults, and the cluster's changes.

Notices of preemption are watched for here: with Ray (2.60) `get_preemption_info()` takes 16 ms of each step of two
workers, and workers that save and return after a notice end the run instead of starting again elsewhere.
"""

import asyncio
import logging
import threading
import time
from dataclasses import dataclass, replace
from functools import partial
from types import TracebackType
from typing import Any

import ray.train.torch
from ray.exceptions import RayError
from ray.train import ControllerError, TrainingFailedError, WorkerGroupError
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy
from torch import nn
from torch.nn.parallel import DistributedDataParallel

from vtr_core import ray_private
from vtr_core.config.run import ScalingConfig, Wire
from vtr_core.data.stream.reading import stream
from vtr_core.embedding.collectives import average_in_bf16
from vtr_core.errors import TrainingError, VtrError
from vtr_core.train.fleet.placement import Placement, Request, place_reading, room, worker_bundle
from vtr_core.train.job import Reason, Report, WorkerContext
from vtr_core.train.loop.worker import Worker

_MAX_REASON = 200


def fault(error: TrainingFailedError, workers: int) -> str:
    """Why a group ended, where a restart can help: a lost worker, or a broken collective, as its peers see the loss.

    Raises the error that ends the run where it cannot: a worker's VtrError, or an error of the code.
    """
    failures = error.worker_failures if isinstance(error, WorkerGroupError) else {}
    for failure in failures.values():
        if isinstance(failure, VtrError):
            raise failure from error
    if not failures:
        return first_line(error.controller_failure if isinstance(error, ControllerError) else error)
    worker, failure = min(failures.items(), key=lambda item: (not _is_loss(item[1]), item[0]))
    broken = workers > 1 and any(isinstance(other, RuntimeError) for other in failures.values())
    if not _is_loss(failure) and not broken:
        raise error
    return f"worker {worker}: {first_line(failure)}"


def _is_loss(failure: Exception) -> bool:
    return isinstance(failure, (RayError, ray_private.failed_health_check()))


def first_line(error: Exception) -> str:
    """The beginning of the error's first line."""
    line = next((line.strip() for line in str(error).splitlines() if line.strip()), type(error).__name__)
    return line if len(line) <= _MAX_REASON else f"{line[:_MAX_REASON]}…"


class RestartBudget:
    """`allowed` restarts in a row from the same checkpoint.

    A new checkpoint renews the budget: a run over weeks survives any number of faults as long as it makes progress, and
    one that fails again and again at the same place ends.
    """

    def __init__(self, allowed: int) -> None:
        self._allowed, self._left = allowed, allowed
        self._checkpoint: str | None = None

    def spend(self, checkpoint: str | None, reason: str) -> int:
        """Count one restart from `checkpoint` (None: from the beginning); returns how many are left after it.

        TrainingError where none is left.
        """
        if checkpoint != self._checkpoint:
            self._checkpoint, self._left = checkpoint, self._allowed
        if self._left == 0:
            raise TrainingError(
                f"workers were lost {self._allowed + 1} times from {checkpoint or 'the beginning'} "
                f"(scaling.max_restarts = {self._allowed}): {reason}"
            )
        self._left -= 1
        return self._left


_MAX_CALLS = 100_000
"""Each worker's query for a stop request stays pending, so there are about as many concurrent calls as workers."""


@dataclass(frozen=True)
class Group:
    """The known state of a worker group."""

    nodes: frozenset[str] = frozenset()
    """The nodes, by Ray's identifiers, that its workers run on."""
    has_begun: bool = False
    """Whether it has said that it begins to train."""


class _Exchange:
    """Buffers reports until the driver takes them, and the request to stop until the workers ask for it."""

    def __init__(self) -> None:
        self._reports: asyncio.Queue[Report] = asyncio.Queue()
        self._stop: asyncio.Future[Reason | None] = asyncio.get_event_loop().create_future()
        self._group = Group()

    async def put(self, report: Report) -> None:
        if report.get("event") in ("started", "resumed"):
            self._group = replace(self._group, has_begun=True)
        await self._reports.put(report)

    async def take(self, timeout_s: float) -> list[Report]:
        try:
            first = await asyncio.wait_for(self._reports.get(), timeout_s)
        except TimeoutError:
            return []
        return [first, *(self._reports.get_nowait() for _ in range(self._reports.qsize()))]

    async def new_group(self) -> None:
        if not self._stop.done():
            self._stop.set_result(None)  # ends the pending queries of workers that are gone
        self._stop = asyncio.get_event_loop().create_future()
        self._group = Group()

    async def request_stop(self, reason: Reason) -> None:
        if not self._stop.done():
            self._stop.set_result(reason)

    async def stop_requested(self, node: str) -> Reason | None:
        self._group = replace(self._group, nodes=self._group.nodes | {node})
        return await asyncio.shield(self._stop)

    async def group(self) -> Group:
        return self._group


class Channel:
    """A handle on the exchange, which is sent to workers. No call here makes a training step wait."""

    def __init__(self) -> None:
        # On the driver's node: the loss of any other node must not lose the reports.
        here = NodeAffinitySchedulingStrategy(ray.get_runtime_context().get_node_id(), soft=False)
        actor: Any = ray.remote(num_cpus=0)(_Exchange)
        self._exchange = actor.options(max_concurrency=_MAX_CALLS, scheduling_strategy=here).remote()

    def report(self, report: Report) -> None:
        """Send a report to the driver."""
        self._exchange.put.remote(report)

    def take(self, timeout_s: float) -> list[Report]:
        """The reports that have arrived, oldest first; waits for one for at most `timeout_s`."""
        return ray.get(self._exchange.take.remote(timeout_s))

    def new_group(self) -> None:
        """Reset for a worker group that is about to begin: without a stop request and without known nodes."""
        ray.get(self._exchange.new_group.remote())

    def request_stop(self, reason: Reason) -> None:
        """Ask the workers of the present group to save a checkpoint and end; the first reason counts."""
        self._exchange.request_stop.remote(reason)

    def group(self) -> Group:
        """The state of the present group, as far as it has reported."""
        return ray.get(self._exchange.group.remote())

    def watch(self) -> "StopWatch":
        """A worker's view of the request to stop."""
        return StopWatch(self._exchange.stop_requested.remote(ray.get_runtime_context().get_node_id()))


class StopWatch:
    """Tells whether a stop was requested, without waiting."""

    def __init__(self, answer: Any) -> None:
        self._answer = answer

    def requested(self) -> bool:
        """Whether a stop was requested by now."""
        ready, _ = ray.wait([self._answer], timeout=0)
        return bool(ready)

    def reason(self) -> Reason:
        """Why a stop was requested; waits for the answer where only another worker has it."""
        return ray.get(self._answer)


logger = logging.getLogger(__name__)
_POLL_S = 1.0


class GroupWatch:
    """A context manager around one group of `workers` workers; `larger` is the next possible count, if any."""

    def __init__(
        self,
        channel: Channel,
        scaling: ScalingConfig,
        gpu: bool,
        placed: Placement,
        workers: int,
        larger: int | None,
    ) -> None:
        self._channel, self._scaling, self._gpu, self._placed = channel, scaling, gpu, placed
        self._workers, self._larger = workers, larger
        self.reason: Reason | None = None
        """Why the group was asked to end, if it was."""
        self._began: float | None = None
        self._request: Request | None = None
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="group-watch", daemon=True)

    def __enter__(self) -> "GroupWatch":
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._ended.set()
        self._thread.join()

    def _watch(self) -> None:
        try:
            while self.reason is None and not self._ended.wait(_POLL_S):
                self.reason = self._reason_to_end(self._channel.group())
            if self.reason is not None:
                self._channel.request_stop(self.reason)
        except RayError as error:
            logger.warning("the cluster is no longer watched for this group of workers (%s)", error)
        finally:
            self._withdraw()

    def _reason_to_end(self, group: Group) -> Reason | None:
        if group.nodes & ray_private.draining_nodes():  # a spot machine's notice, `ray drain-node`
            return "preempted"
        if group.has_begun and self._began is None:
            self._began = time.monotonic()
        may_grow = self._began is not None and time.monotonic() - self._began > self._scaling.resize_interval_s
        if self._larger is not None and may_grow and self._has_room():
            self._withdraw()  # before the group is asked to stop: it may need these CPUs for its last batch
            return "resized"
        return None

    def _has_room(self) -> bool:
        """Whether Ray has granted resources for `larger` workers; the first call requests them."""
        assert self._larger is not None
        if not room(self._placed).holds(self._scaling, self._larger):
            return False
        if self._request is None:
            worker = (worker_bundle(self._scaling, self._gpu), self._placed.workers)
            self._request = Request([worker] * (self._larger - self._workers))
        return self._request.is_granted()

    def _withdraw(self) -> None:
        if self._request is not None:
            self._request.withdraw()
            self._request = None


def train_worker(values: dict[str, Any]) -> bool:
    """Ray Train's entry point: one worker's part of the run, from the newest checkpoint on; see `Worker.run`."""
    place_reading(values["placed"])
    job = values["job"]
    return Worker(job, _context(values["channel"], job.config.scaling.wire)).run()


def _context(channel: Channel, wire: Wire) -> WorkerContext:
    context = ray.train.get_context()
    return WorkerContext(
        rank=context.get_world_rank(),
        world=context.get_world_size(),
        device=ray.train.torch.get_device(),
        channel=channel,
        stream=stream,
        distribute=partial(_distribute, wire=wire),
    )


def _distribute(model: nn.Module, wire: Wire) -> nn.Module:
    """DDP, except for a model without trainable parameters, which DDP refuses."""
    if not any(parameter.requires_grad for parameter in model.parameters()):
        return model.to(ray.train.torch.get_device())
    constant_buffers = {"broadcast_buffers": False}
    prepared = ray.train.torch.prepare_model(model, parallel_strategy_kwargs=constant_buffers)
    assert isinstance(prepared, nn.Module)
    if wire == "bf16" and isinstance(prepared, DistributedDataParallel):  # a single worker's is not wrapped
        prepared.register_comm_hook(None, average_in_bf16)
    return prepared
