"""Queries that wait together are answered together: one forward of the model, one product with the index."""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from typing import Generic, TypeVar

Question = TypeVar("Question")
Answer = TypeVar("Answer")


class Batcher(Generic[Question, Answer]):
    """Answers questions in batches; belongs to one event loop.

    answer: the answers of a batch, in its order; what it raises, all of its questions get. Nothing waits for company: a
    batch is what has gathered while `at_once` others were being answered, at most `most` questions.
    """

    def __init__(
        self, answer: Callable[[Sequence[Question]], Awaitable[Sequence[Answer]]], most: int = 64, at_once: int = 1
    ) -> None:
        self._answer, self._most, self._free = answer, most, at_once
        self._waiting: deque[tuple[Question, asyncio.Future[Answer]]] = deque()
        self._running: set[asyncio.Task[None]] = set()

    async def ask(self, question: Question) -> Answer:
        """The answer to one question. Who gives up while waiting is left out."""
        future = asyncio.get_running_loop().create_future()
        self._waiting.append((question, future))
        self._start()
        return await future

    def _start(self) -> None:
        while self._free and self._waiting:
            self._free -= 1
            task = asyncio.ensure_future(self._one_batch())
            self._running.add(task)  # the event loop itself keeps weak references alone
            task.add_done_callback(self._running.discard)

    async def _one_batch(self) -> None:
        taken = [self._waiting.popleft() for _ in range(min(self._most, len(self._waiting)))]
        taken = [(question, future) for question, future in taken if not future.done()]
        try:
            answers = await self._answer([question for question, _ in taken]) if taken else ()
            for (_, future), answer in zip(taken, answers, strict=True):
                if not future.done():
                    future.set_result(answer)
        except Exception as error:
            for _, future in taken:
                if not future.done():
                    future.set_exception(error)
        finally:
            self._free += 1
            self._start()
