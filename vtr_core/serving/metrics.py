"""Metrics of a server, in the text format of Prometheus."""

import time
from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar

from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from starlette.routing import Match, Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

Question = TypeVar("Question")
Answer = TypeVar("Answer")
_SECONDS = (0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.5, 1, 2, 5, 10)
_QUERIES = (1, 2, 4, 8, 16, 32, 64)


class Metrics:
    """Counts and times of one application."""

    media_type = CONTENT_TYPE_LATEST

    def __init__(self, num_items: int) -> None:
        self._registry = CollectorRegistry()
        labels = ("path", "status")
        self._requests = Counter("vtr_requests", "Requests answered", labels, registry=self._registry)
        self._seconds = Histogram(
            "vtr_request_seconds", "Time to answer", ("path",), registry=self._registry, buckets=_SECONDS
        )
        self._batches = Histogram(
            "vtr_batch_queries", "Queries answered together", registry=self._registry, buckets=_QUERIES
        )
        Gauge("vtr_index_items", "Items of the index", registry=self._registry).set(num_items)

    def text(self) -> bytes:
        """The metrics now."""
        return generate_latest(self._registry)

    def batched(
        self, answer: Callable[[Sequence[Question]], Awaitable[Sequence[Answer]]]
    ) -> Callable[[Sequence[Question]], Awaitable[Sequence[Answer]]]:
        """`answer`, with the sizes of its batches counted."""

        async def counted(questions: Sequence[Question]) -> Sequence[Answer]:
            self._batches.observe(len(questions))
            return await answer(questions)

        return counted

    def counting(self, app: ASGIApp, routes: Sequence[Route]) -> ASGIApp:
        """`app`, with its requests counted by route, never by what clients write."""

        async def counted(scope: Scope, receive: Receive, send: Send) -> None:
            begun, status = time.perf_counter(), 500

            async def watched(message: Message) -> None:
                nonlocal status
                if message["type"] == "http.response.start":
                    status = message["status"]
                await send(message)

            try:
                await app(scope, receive, watched)
            finally:
                path = next((route.path for route in routes if route.matches(scope)[0] is Match.FULL), "")
                self._requests.labels(path, str(status)).inc()
                self._seconds.labels(path).observe(time.perf_counter() - begun)

        return counted
