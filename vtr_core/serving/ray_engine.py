"""An engine of replicas on Ray Serve: each shard of an index is a deployment, and every query goes to all shards.

The app itself stays in one process, which asks again where a replica ends before it has answered: a query changes
nothing, so it may be asked twice.
"""

import asyncio
import heapq
import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

import ray
from ray import serve
from ray.exceptions import ActorUnavailableError, RayActorError, RayTaskError
from ray.serve.exceptions import ReplicaUnavailableError
from ray.serve.handle import DeploymentHandle

from vtr_core.errors import ClusterError, one_line
from vtr_core.retrieval.explain.explanation import HitExplanation
from vtr_core.retrieval.search.index_search import Hit
from vtr_core.serving.engine import Hits, Parameters, SearchInfo, SearchQuery, Source
from vtr_core.serving.server import spare_loaded

ATTEMPTS = 5
"""How often one batch is asked for while replicas end."""
_ONGOING = 64
"""Batches and explanations that a replica takes at once; it searches for one batch after the other."""
_ENDED = (RayActorError, ActorUnavailableError, ReplicaUnavailableError)


class Replica:
    """A process that searches one shard."""

    def __init__(self, source: Source, number: int, shards: int) -> None:
        self._shard = source.shard(number, shards)
        self._one_at_a_time = asyncio.Lock()
        spare_loaded()

    async def search(self, queries: Sequence[SearchQuery]) -> list[Hits]:
        """See `Engine`."""
        async with self._one_at_a_time:
            return await self._shard.search(queries)

    async def why(self, text: str, item_id: str, transform: Parameters | None) -> HitExplanation | None:
        """See `Shard`."""
        return await self._shard.why(text, item_id, transform)

    async def info(self) -> SearchInfo:
        """See `Engine`."""
        return self._shard.info


@dataclass(frozen=True)
class RayEngine:
    """Handles of the shards, in the order of their items."""

    shards: tuple[DeploymentHandle, ...]
    info: SearchInfo

    async def search(self, queries: Sequence[SearchQuery]) -> list[Hits]:
        """See `Engine`. The best of all shards' best are the best of the whole index, ties in its order."""
        answers = await asyncio.gather(*(_asked_again(shard, "search", list(queries)) for shard in self.shards))
        return [merged(parts, query.k) for query, *parts in zip(queries, *answers, strict=True)]

    async def why(self, text: str, item_id: str, transform: Parameters | None = None) -> HitExplanation | None:
        """See `Engine`. The shard that has the item answers."""
        answers = await asyncio.gather(*(_asked_again(shard, "why", text, item_id, transform) for shard in self.shards))
        return next((answer for answer in answers if answer is not None), None)


def merged(parts: Sequence[Hits], k: int) -> Hits:
    """The k best hits of all shards, with their ranks; None where the query has no known word."""
    known = [part for part in parts if part is not None]
    if not known:
        return None
    best: Iterator[Hit] = heapq.merge(*known, key=lambda hit: -hit.score)  # stable: the first shard's of equal ones
    return tuple(replace(hit, rank=rank) for rank, hit in enumerate(islice(best, k), start=1))


async def _asked_again(shard: DeploymentHandle, method: str, *arguments: object) -> Any:
    """The answer of any replica of a shard; ClusterError where ATTEMPTS of them end before they answer."""
    for attempt in range(1, ATTEMPTS + 1):
        try:
            return await shard.options(method_name=method).remote(*arguments)
        except RayTaskError as error:  # its text has the replica's traceback
            raise error.cause from error
        except _ENDED as error:
            if attempt == ATTEMPTS:
                raise ClusterError(f"{ATTEMPTS} replicas ended while they searched: {one_line(str(error))}") from error
    raise AssertionError


@contextmanager
def ray_engine(source: Source, shards: int, replicas: int) -> Iterator[RayEngine]:
    """The engine, once all replicas have loaded; they end with the context. Ray is connected before.

    Raises ClusterError where the cluster has no room for them or a replica does not load.
    """
    room, needed = ray.cluster_resources().get("CPU", 0), shards * replicas
    if room < needed:
        raise ClusterError(f"{needed} replicas need as many CPUs, the cluster has {room:g}; give fewer --replicas")
    logging.getLogger("ray.serve").setLevel(logging.ERROR)
    serve.start(proxy_location="Disabled")
    names = [f"vtr-shard-{number}" for number in range(shards)]
    try:
        handles = tuple(_deployed(name, source, number, shards, replicas) for number, name in enumerate(names))
        info: SearchInfo = asyncio.run(_asked_again(handles[0], "info"))
        if shards > 1:
            info = replace(info, scoring=f"{info.scoring}, in each of {shards} shards")
        yield RayEngine(handles, info)
    finally:
        for name in names:
            serve.delete(name)


def _deployed(name: str, source: Source, number: int, shards: int, replicas: int) -> DeploymentHandle:
    deployed = serve.deployment(
        num_replicas=replicas,
        max_ongoing_requests=_ONGOING,
        ray_actor_options={"num_cpus": 1, "num_gpus": 0},
        logging_config={"log_level": "ERROR", "enable_access_log": False},
    )
    try:
        return serve.run(deployed(Replica).bind(source, number, shards), name=name, route_prefix=None)
    except RuntimeError as error:  # Serve's, for a deployment that fails
        raise ClusterError(f"shard {number} was not loaded: {one_line(str(error))}") from error
