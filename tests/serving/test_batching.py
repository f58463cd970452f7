"""Batches hold what has gathered, errors reach their questions, and who gives up is left out."""

import asyncio
from collections.abc import Sequence

import pytest

from vtr_core.serving.engine import Batcher


def test_what_gathers_while_one_is_answered_is_one_batch() -> None:
    batches: list[list[int]] = []

    async def run() -> list[int]:
        first_is_asked, go_on = asyncio.Event(), asyncio.Event()

        async def doubled(numbers: Sequence[int]) -> list[int]:
            batches.append(list(numbers))
            first_is_asked.set()
            await go_on.wait()
            return [2 * number for number in numbers]

        batcher = Batcher(doubled, most=3)
        asked = [asyncio.ensure_future(batcher.ask(0))]
        await first_is_asked.wait()
        asked += [asyncio.ensure_future(batcher.ask(number)) for number in range(1, 7)]
        await asyncio.sleep(0)
        asked.pop(2).cancel()
        await asyncio.sleep(0)
        go_on.set()
        return await asyncio.gather(*asked)

    assert asyncio.run(run()) == [0, 2, 6, 8, 10, 12]
    assert batches == [[0], [1, 3], [4, 5, 6]]


def test_an_error_reaches_its_batch_alone() -> None:
    async def run() -> int:
        async def inverse(numbers: Sequence[int]) -> list[int]:
            return [1 // number for number in numbers]

        batcher = Batcher(inverse)
        with pytest.raises(ZeroDivisionError):
            await batcher.ask(0)
        return await batcher.ask(1)

    assert asyncio.run(run()) == 1
