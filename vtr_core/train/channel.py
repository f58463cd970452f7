"""What driver and workers say to each other during a run: reports one way, a request to stop the other."""

import asyncio
from typing import Any

import ray

Report = dict[str, Any]


class _Exchange:
    """Holds reports until the driver takes them, and the request to stop until the workers look."""

    def __init__(self) -> None:
        self._reports: asyncio.Queue[Report] = asyncio.Queue()
        self._stop = asyncio.Event()

    async def put(self, report: Report) -> None:
        await self._reports.put(report)

    async def take(self, timeout_s: float) -> list[Report]:
        try:
            first = await asyncio.wait_for(self._reports.get(), timeout_s)
        except TimeoutError:
            return []
        return [first, *(self._reports.get_nowait() for _ in range(self._reports.qsize()))]

    async def request_stop(self) -> None:
        self._stop.set()

    async def stop_requested(self) -> bool:
        return await self._stop.wait()


class Channel:
    """A handle on the exchange; it travels to workers. Nothing here makes a training step wait."""

    def __init__(self) -> None:
        self._exchange: Any = ray.remote(num_cpus=0)(_Exchange).remote()

    def report(self, report: Report) -> None:
        """Send a report to the driver."""
        self._exchange.put.remote(report)

    def take(self, timeout_s: float) -> list[Report]:
        """The reports that have come, oldest first; waits for one at most `timeout_s`."""
        return ray.get(self._exchange.take.remote(timeout_s))

    def request_stop(self) -> None:
        """Ask the workers to save a checkpoint and end."""
        self._exchange.request_stop.remote()

    def watch(self) -> "StopWatch":
        """A worker's view of the request to stop."""
        return StopWatch(self._exchange.stop_requested.remote())


class StopWatch:
    """Tells, at once and as often as asked, whether a stop was requested."""

    def __init__(self, answer: Any) -> None:
        self._answer = answer

    def requested(self) -> bool:
        """Whether a stop was requested by now."""
        ready, _ = ray.wait([self._answer], timeout=0)
        return bool(ready)
