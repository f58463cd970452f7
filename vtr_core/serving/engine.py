"""What answers a search app: an index with its model, whole or in shards, its items, and batches of queries."""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Generic, Protocol, TypeVar, runtime_checkable

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from jaxtyping import Int64

from vtr_core.config.data_sets import ConceptSimilarity
from vtr_core.data.records.schema import kept_column
from vtr_core.errors import ConfigError
from vtr_core.retrieval.explain.explanation import HitExplanation
from vtr_core.retrieval.index.index import IndexRecord, VideoIndex, load_index
from vtr_core.retrieval.search.filters import Condition, meeting
from vtr_core.retrieval.search.index_search import Hit, Searcher, SearchOptions, searcher
from vtr_core.storage import locate
from vtr_core.systems.system import Systems
from vtr_core.text.tokens.vocabulary import Vocabulary
from vtr_core.train.checkpoint.trained_model import read_stated_model

Question = TypeVar("Question")
Answer = TypeVar("Answer")
Parameters = tuple[float, float, float]
"""Scale, shift and power of a transform of concepts."""
Hits = tuple[Hit, ...] | None
"""Hits, best first; None for a query without a known word."""
NUM_TAGS = 10
_COLUMNS = ("caption", "video_id", "start", "end")
MOST_WAITING = 256
FILTER_S = 10.0
"""Seconds that the filters of a query may take."""
_FILTERS, _OFFERED, _READ = 64, 50, 4096
_FILTER_BYTES = 2**28
"""Memory for the items that met filters, at most."""


class BusyError(Exception):
    """So many questions wait that another one is not taken."""


class Batcher(Generic[Question, Answer]):
    """Answers questions in batches; belongs to one event loop.

    answer: the answers of a batch, in its order; what it raises, all of its questions get. Nothing waits for company: a
    batch is what has gathered while `at_once` others were being answered, at most `most` questions; at most
    `most_waiting` wait.
    """

    def __init__(
        self,
        answer: Callable[[Sequence[Question]], Awaitable[Sequence[Answer]]],
        most: int = 64,
        at_once: int = 1,
        most_waiting: int = MOST_WAITING,
    ) -> None:
        self._answer, self._most, self._free, self._most_waiting = answer, most, at_once, most_waiting
        self._waiting: deque[tuple[Question, asyncio.Future[Answer]]] = deque()
        self._running: set[asyncio.Task[None]] = set()

    async def ask(self, question: Question) -> Answer:
        """The answer to one question; BusyError where too many wait. Who gives up while waiting is left out."""
        if len(self._waiting) >= self._most_waiting:
            raise BusyError
        future = asyncio.get_running_loop().create_future()
        self._waiting.append((question, future))
        self._start()
        return await future

    def _start(self) -> None:
        while self._free and self._waiting:
            self._free -= 1
            task = asyncio.ensure_future(self._next_batch())
            self._running.add(task)  # the event loop itself keeps weak references alone
            task.add_done_callback(self._running.discard)

    async def _next_batch(self) -> None:
        batch = [self._waiting.popleft() for _ in range(min(self._most, len(self._waiting)))]
        batch = [(question, future) for question, future in batch if not future.done()]
        try:
            answers = await self._answer([question for question, _ in batch]) if batch else ()
            for (_, future), answer in zip(batch, answers, strict=True):
                if not future.done():
                    future.set_result(answer)
        except Exception as error:
            for _, future in batch:
                if not future.done():
                    future.set_exception(error)
        finally:
            self._free += 1
            self._start()


@dataclass(frozen=True)
class Column:
    """A column that can be filtered by, with its values in order; None where they are too many to choose from."""

    name: str
    values: tuple[str, ...] | None


class Catalogue:
    """The items of an index; thread-safe."""

    def __init__(self, index: VideoIndex) -> None:
        self.items, self.index = index.items, index
        remembered = max(1, min(_FILTERS, _FILTER_BYTES // (8 * len(self.items) + 1)))
        self._meeting = lru_cache(remembered)(lambda filters: meeting(self.items, filters, FILTER_S))

    @cached_property
    def columns(self) -> tuple[Column, ...]:
        """The columns that the index has values of, those that ingest kept first."""
        table, prefix = self.items.table, kept_column("")
        names = [*(name for name in table.column_names if name.startswith(prefix)), *_COLUMNS]
        known = [name for name in names if table.column(name).null_count < len(table)]
        return tuple(Column(name.removeprefix(prefix), _few(table.column(name))) for name in known)

    def chosen(self, filters: tuple[Condition, ...]) -> Int64[np.ndarray, " chosen"] | None:
        """The ascending positions of the items that meet all conditions, see `meeting`, whose time is limited."""
        return self._meeting(filters)


def _few(column: pa.ChunkedArray) -> tuple[str, ...] | None:
    """The distinct texts of a column; None where it has none, and as soon as they are too many to choose from."""
    if not pa.types.is_string(column.type):
        return None
    texts = set[str]()
    for first in range(0, len(column), _READ):
        texts |= set(pc.unique(column.slice(first, _READ).drop_null()).to_pylist())
        if len(texts) > _OFFERED:
            return None
    return tuple(sorted(texts))


@dataclass(frozen=True)
class SearchQuery:
    """A query: the k best items that meet the filters."""

    text: str
    k: int
    filters: tuple[Condition, ...] = ()
    transform: Parameters | None = None


@dataclass(frozen=True)
class SearchInfo:
    """What a search says of itself."""

    scoring: str
    """A description of the scoring."""
    vocabulary: Vocabulary
    """The words of the model."""
    comparison: ConceptSimilarity | None
    """By which concepts are compared; None where there are none that a transform could change."""


@runtime_checkable
class Engine(Protocol):
    """Answers queries."""

    @property
    def info(self) -> SearchInfo:
        """What it says of itself."""
        ...

    async def search(self, queries: Sequence[SearchQuery]) -> list[Hits]:
        """The hits of queries that were asked together."""
        ...

    async def why(self, text: str, item_id: str, transform: Parameters | None = None) -> HitExplanation | None:
        """Why an item is found; None where the model has no concepts that would tell."""
        ...


class Shard:
    """A searcher with its items: an `Engine` in this process, which answers in threads beside the event loop."""

    def __init__(self, record: IndexRecord, searcher: Searcher, catalogue: Catalogue) -> None:
        self.record, self.searcher, self.catalogue = record, searcher, catalogue
        self.info = SearchInfo(searcher.description, searcher.vocabulary, searcher.comparison)

    async def search(self, queries: Sequence[SearchQuery]) -> list[Hits]:
        """See `Engine`."""
        return await asyncio.to_thread(self._hits, queries)

    async def why(self, text: str, item_id: str, transform: Parameters | None = None) -> HitExplanation | None:
        """See `Engine`; None also for an item that is not in this shard."""
        position = self.catalogue.index.position(item_id)
        return None if position is None else await asyncio.to_thread(self._reason, text, position, transform)

    def _hits(self, queries: Sequence[SearchQuery]) -> list[Hits]:
        """The hits of several queries: one forward and one product for all that have the same filters and transform."""
        answers: dict[int, Hits] = {}
        for filters, transform in dict.fromkeys((query.filters, query.transform) for query in queries):
            alike = [n for n, query in enumerate(queries) if (query.filters, query.transform) == (filters, transform)]
            k = max(queries[number].k for number in alike)
            texts = [queries[number].text for number in alike]
            hits = self._under(transform).search(texts, k, self.catalogue.chosen(filters))
            for number, of_query in zip(alike, hits, strict=True):
                answers[number] = None if of_query is None else of_query[: queries[number].k]
        return [answers[number] for number in range(len(queries))]

    def _reason(self, text: str, position: int, transform: Parameters | None) -> HitExplanation | None:
        return self._under(transform).why(text, position, NUM_TAGS)

    def _under(self, transform: Parameters | None) -> Searcher:
        return self.searcher if transform is None else self.searcher.transformed(*transform)


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
        loaded = read_stated_model(self.checkpoint, index.record.checkpoint, self.index, self.systems, self.device)
        return Shard(index.record, searcher(index, loaded, SearchOptions()), Catalogue(index))


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
