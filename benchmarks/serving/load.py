"""Clients that search, each waiting for its answer before it asks again."""

import asyncio
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import aiohttp
import numpy as np

WORDS_PER_QUERY = 6


@dataclass(frozen=True)
class Load:
    """What the clients saw."""

    seconds: tuple[float, ...]
    """Time of every request that was answered."""
    faults: Counter[str]
    """Requests that were not answered by 200, by status or kind of error."""
    wall_s: float
    cpu_s: float
    """Processor time of the clients, who share the server's machine."""

    def quantile_ms(self, share: float) -> float:
        """A quantile of the times, in ms."""
        return 1000 * float(np.quantile(self.seconds, share))


async def load(url: str, words: Sequence[str], clients: int, seconds: float, pause_s: float) -> Load:
    """Searches of `clients` for `seconds`; after each answer a client pauses for an exponential time of mean `pause_s`.

    Queries are of random words, no two the same but by chance.
    """
    found: list[float] = []
    faults: Counter[str] = Counter()
    begun, begun_cpu = time.perf_counter(), time.process_time()
    known = np.array(words)

    async def client(number: int, session: aiohttp.ClientSession) -> None:
        rng = np.random.default_rng(number)
        while time.perf_counter() - begun < seconds:
            if pause_s:
                await asyncio.sleep(rng.exponential(pause_s))
            asked = time.perf_counter()
            params = {"q": " ".join(rng.choice(known, WORDS_PER_QUERY))}
            try:
                async with session.get(f"{url}api/search", params=params) as response:
                    await response.read()
                    if response.status == 200:
                        found.append(time.perf_counter() - asked)
                    else:
                        faults[str(response.status)] += 1
            except aiohttp.ClientError as error:
                faults[type(error).__name__] += 1

    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=clients)) as session:
        await asyncio.gather(*(client(number, session) for number in range(clients)))
    return Load(tuple(found), faults, time.perf_counter() - begun, time.process_time() - begun_cpu)
