"""What answers a search app: an index with its model, whole or in shards, its items, and batches of queries."""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any, Generic, Protocol, TypeVar, runtime_checkable

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from jaxtyping import Int64

from vtr_core.config.data_sets import ConceptSimilarity
from vtr_core.data.records.schema import kept_column
from vtr_core.errors import ConfigError
from vtr_core.retrieval.explain.explained_queries import sized_tags
from vtr_core.retrieval.explain.explanation import HitExplanation
from vtr_core.retrieval.explain.key_frames import KeyFrames, Picture, read_pictures
from vtr_core.retrieval.index.index import VideoIndex, load_index
from vtr_core.retrieval.index.record import IndexRecord
from vtr_core.retrieval.search.filters import Condition, meeting
from vtr_core.retrieval.search.index_search import searcher
from vtr_core.retrieval.search.searcher import Hit, Searcher, SearchOptions
from vtr_core.storage import locate
from vtr_core.systems.registry import Systems
from vtr_core.text.tokens.vocabulary import Vocabulary
from vtr_core.train.checkpoint.trained_model import read_model

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


_TOLD = ("caption", "video_id", "start", "end")
_PICTURES, _FILTERS, _OFFERED, _READ = 512, 64, 50, 4096


@dataclass(frozen=True)
class Column:
    """A column that can be filtered by."""

    name: str
    values: tuple[str, ...] | None
    """Its values in order; None where they are too many to choose from."""


class Catalogue:
    """The items of an index; thread-safe. thumbnails: their pictures, where there are any."""

    def __init__(self, index: VideoIndex, thumbnails: KeyFrames | None) -> None:
        self.items, self.index = index.items, index
        self.picture = lru_cache(_PICTURES)(lambda item_id: _picture(item_id, thumbnails))
        self._meeting = lru_cache(_FILTERS)(lambda filters: meeting(self.items, filters))

    def position(self, item_id: str) -> int | None:
        """The position of an item; None for an id that is not in the index."""
        return self.index.position(item_id)

    @cached_property
    def columns(self) -> tuple[Column, ...]:
        """The columns that the index has values of, those that ingest kept first."""
        table = self.items.table
        kept = [name for name in table.column_names if name.startswith(kept_column(""))]
        known = [name for name in (*kept, *_TOLD) if table.column(name).null_count < len(table)]
        return tuple(_column(table, name) for name in known)

    def chosen(self, filters: tuple[Condition, ...]) -> Int64[np.ndarray, " chosen"] | None:
        """The ascending positions of the items that meet all conditions, see `meeting`."""
        return self._meeting(filters)


def _column(table: pa.Table, name: str) -> Column:
    values = _few(table.column(name)) if pa.types.is_string(table.column(name).type) else None
    return Column(name.removeprefix(kept_column("")), None if values is None else tuple(sorted(values)))


def _few(column: pa.ChunkedArray) -> set[str] | None:
    """The distinct texts of a column; None as soon as they are too many to choose from."""
    found = set[str]()
    for first in range(0, len(column), _READ):
        found |= set(pc.unique(column.slice(first, _READ).drop_null()).to_pylist())
        if len(found) > _OFFERED:
            return None
    return found


def _picture(item_id: str, thumbnails: KeyFrames | None) -> Picture:
    return read_pictures(None, [item_id], thumbnails)[item_id]


Parameters = tuple[float, float, float]
"""Scale, shift and power of a transform of concepts."""
Hits = tuple[Hit, ...] | None
"""Hits, best first; None for a query without a known word."""
NUM_TAGS = 10


@dataclass(frozen=True)
class Asked:
    """A query: the k best items that meet the filters."""

    text: str
    k: int
    filters: tuple[Condition, ...] = ()
    transform: Parameters | None = None


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

    @property
    def comparison(self) -> ConceptSimilarity | None:
        """By which concepts are compared; None where there are none that a transform could change."""
        ...

    async def why(self, text: str, item_id: str, transform: Parameters | None = None) -> dict[str, Any] | None:
        """Why an item is found, as JSON; None where the model has no concepts that would tell."""
        ...


class Shard:
    """A searcher with its items."""

    def __init__(self, record: IndexRecord, searcher: Searcher, catalogue: Catalogue) -> None:
        self.record, self.searcher, self.catalogue = record, searcher, catalogue

    def search(self, asked: Sequence[Asked]) -> list[Hits]:
        """The hits of several queries: one forward and one product for all that have the same filters and transform."""
        found: dict[int, Hits] = {}
        for filters, transform in dict.fromkeys((one.filters, one.transform) for one in asked):
            alike = (filters, transform)
            places = [place for place, one in enumerate(asked) if (one.filters, one.transform) == alike]
            k = max(asked[place].k for place in places)
            among = self.catalogue.chosen(filters)
            hits = self._under(transform).search([asked[place].text for place in places], k, among)
            found |= {
                place: None if one is None else one[: asked[place].k] for place, one in zip(places, hits, strict=True)
            }
        return [found[place] for place in range(len(asked))]

    def why(self, text: str, item_id: str, transform: Parameters | None = None) -> dict[str, Any] | None:
        """See `Engine`; None also for an item that is not in this shard."""
        position = self.catalogue.position(item_id)
        found = None if position is None else self._under(transform).why(text, position, NUM_TAGS)
        return None if found is None else _as_json(found)

    def _under(self, transform: Parameters | None) -> Searcher:
        return self.searcher if transform is None else self.searcher.transformed(*transform)


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

    @property
    def comparison(self) -> ConceptSimilarity | None:
        """See `Engine`."""
        return self.shard.searcher.comparison

    async def why(self, text: str, item_id: str, transform: Parameters | None = None) -> dict[str, Any] | None:
        """See `Engine`."""
        return await asyncio.to_thread(self.shard.why, text, item_id, transform)


def _as_json(found: HitExplanation) -> dict[str, Any]:
    clouds = {"video": found.video, "query": found.query, "contributions": found.contributions, "shared": found.shared}
    return {
        "score": found.score,
        "latent": found.latent,
        "concept": found.concept,
        "causality_few": found.causality_few,
        "causality_many": found.causality_many,
        **{name: sized_tags(tags) for name, tags in clouds.items()},
    }


@dataclass(frozen=True)
class Source:
    """Where an index and its model lie, for every process that loads a shard of it."""

    index: str
    systems: Systems
    """Those among which the model's own is looked for."""
    checkpoint: str | None = None
    """The checkpoint, where it is no longer where the index says."""
    device: str = "cpu"

    def shard(self, number: int = 0, shards: int = 1) -> Shard:
        """Part `number` of `shards` of the index's shards, of which no others are read. Raises what loading raises."""
        index = load_index(locate(self.index), number, shards)
        loaded = read_model(self.checkpoint or index.record.checkpoint, self.systems, self.device)
        return Shard(index.record, searcher(index, loaded, SearchOptions()), Catalogue(index, None))


def check_shards(record: IndexRecord, shards: int) -> None:
    """ConfigError for an index that cannot be searched in `shards` parts with the same result."""
    if shards == 1:
        return
    if record.kind == "dual":
        raise ConfigError("the scores of a dual encoder are scaled over all items; leave out --shards")
    if shards > len(record.shards):
        raise ConfigError(
            f"--shards is {shards}, the index is in {len(record.shards)}; give no more, or vtr index --shards {shards}"
        )
