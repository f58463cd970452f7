"""What answers the questions of a search app: one process, or replicas over shards of the index."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

from vtr_core.retrieval.explain.session import sized_tags
from vtr_core.retrieval.explain.values import HitExplanation
from vtr_core.retrieval.index.record import IndexRecord
from vtr_core.retrieval.search.filters import Condition
from vtr_core.retrieval.search.hit import Hit
from vtr_core.retrieval.search.searcher import Searcher
from vtr_core.serving.catalogue import Catalogue
from vtr_core.text.tokens.vocabulary import Vocabulary

Hits = tuple[Hit, ...] | None
"""Hits, best first; None for a query without a known word."""
NUM_TAGS = 10


@dataclass(frozen=True)
class Asked:
    """A query: the k best items that meet the filters."""

    text: str
    k: int
    filters: tuple[Condition, ...] = ()


@runtime_checkable
class Engine(Protocol):
    """Answers queries."""

    @property
    def scoring(self) -> str:
        """A description of the scoring."""
        ...

    @property
    def vocabulary(self) -> Vocabulary:
        """The words of the model."""
        ...

    async def search(self, asked: Sequence[Asked]) -> list[Hits]:
        """The hits of queries that were asked together."""
        ...

    async def why(self, text: str, item_id: str) -> dict[str, Any] | None:
        """Why an item is found, as JSON; None where the model has no concepts that would tell."""
        ...


class Shard:
    """A searcher with its items."""

    def __init__(self, record: IndexRecord, searcher: Searcher, catalogue: Catalogue) -> None:
        self.record, self.searcher, self.catalogue = record, searcher, catalogue

    def search(self, asked: Sequence[Asked]) -> list[Hits]:
        """The hits of several queries: one forward and one product for all that have the same filters."""
        found: dict[int, Hits] = {}
        for filters in dict.fromkeys(one.filters for one in asked):
            places = [place for place, one in enumerate(asked) if one.filters == filters]
            k = max(asked[place].k for place in places)
            among = self.catalogue.chosen(filters)
            hits = self.searcher.search([asked[place].text for place in places], k, among)
            found |= {
                place: None if one is None else one[: asked[place].k] for place, one in zip(places, hits, strict=True)
            }
        return [found[place] for place in range(len(asked))]

    def why(self, text: str, item_id: str) -> dict[str, Any] | None:
        """See `Engine`; None also for an item that is not in this shard."""
        position = self.catalogue.position(item_id)
        found = None if position is None else self.searcher.why(text, position, NUM_TAGS)
        return None if found is None else _as_json(found)


@dataclass(frozen=True)
class LocalEngine:
    """A shard in this process; the app asks for one batch at a time, in a thread beside the event loop."""

    shard: Shard

    @property
    def scoring(self) -> str:
        """See `Engine`."""
        return self.shard.searcher.description

    @property
    def vocabulary(self) -> Vocabulary:
        """See `Engine`."""
        return self.shard.searcher.vocabulary

    async def search(self, asked: Sequence[Asked]) -> list[Hits]:
        """See `Engine`."""
        return await asyncio.to_thread(self.shard.search, asked)

    async def why(self, text: str, item_id: str) -> dict[str, Any] | None:
        """See `Engine`."""
        return await asyncio.to_thread(self.shard.why, text, item_id)


def _as_json(found: HitExplanation) -> dict[str, Any]:
    clouds = {"video": found.video, "query": found.query, "contributions": found.contributions, "shared": found.shared}
    return {
        "score": found.score,
        "latent": found.latent,
        "concept": found.concept,
        **{name: sized_tags(tags) for name, tags in clouds.items()},
    }
