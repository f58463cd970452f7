"""Messages between driver and workers during a run: reports one way, a request to stop the other."""

import asyncio
from dataclasses import dataclass, replace
from typing import Any

import ray
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

from vtr_core.train.loop.context import Reason, Report

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
