"""Retrieval metrics of rows sharded over the workers, each of which ranks its share of the queries."""

from collections.abc import Iterator, Sequence
from typing import TypeVar

import numpy as np
import torch
import torch.distributed as dist
from jaxtyping import Float32, Int64
from torch import Tensor

from vtr_core.embedding.collectives import gather_uneven, sum_numbers, world_size
from vtr_core.embedding.embedded_rows import EmbeddedRows
from vtr_core.embedding.rankings import Direction, Ranking, of_standing, rankings
from vtr_core.embedding.scoring import Entries, block_scores
from vtr_core.metrics.ranking import ITEM_CHUNK, QUERY_CHUNK
from vtr_core.metrics.ranks import PairCounts, keep, slices
from vtr_core.similarity import SimilarityKind

Place = TypeVar("Place")


def contiguous_share(places: Sequence[Place], rank: int, world: int) -> Sequence[Place]:
    """The share of worker `rank`; the shares of all workers, in order of rank, are `places`."""
    return places[rank * len(places) // world : (rank + 1) * len(places) // world]


def gather_columns(
    columns: Sequence[np.ndarray], device: torch.device
) -> tuple[list[np.ndarray], Int64[np.ndarray, " workers_and_one"]]:
    """Columns of integers or flags of all workers' rows, in order of rank, and where the rows of each worker begin."""
    own = torch.from_numpy(np.stack([column.astype(np.int64) for column in columns], axis=1)).to(device)
    count = gather_uneven(torch.tensor([[len(own)]], device=device)).flatten().cpu().numpy()
    whole = gather_uneven(own).cpu().numpy()
    held = [whole[:, number].astype(column.dtype) for number, column in enumerate(columns)]
    return held, np.concatenate([np.zeros(1, np.int64), np.cumsum(count)])


class SharedVectors:
    """One matrix of vectors, sharded by rows: worker r has the rows `starts[r]` to `starts[r + 1]` − 1."""

    def __init__(
        self,
        own: Float32[np.ndarray, "part dim"],
        starts: Int64[np.ndarray, " workers_and_one"],
        rank: int,
        device: torch.device,
    ) -> None:
        self._own, self._starts, self._rank, self._device = own, starts, rank, device

    def owners(self, rows: Int64[np.ndarray, " rows"]) -> tuple[int, ...]:
        """The workers that have at least one of these rows, ascending."""
        return tuple(np.unique(np.searchsorted(self._starts, rows, side="right") - 1).tolist())

    def own(self, rows: Int64[np.ndarray, " rows"]) -> Float32[Tensor, "rows dim"]:
        """Rows that this worker has."""
        return torch.from_numpy(self._own[rows - self._starts[self._rank]])

    def fetch(self, rows: Int64[np.ndarray, " rows"]) -> Float32[Tensor, "rows dim"]:
        """Any rows, ascending; every worker asks for the same ones."""
        if world_size() == 1:
            return self.own(rows)
        block = torch.empty((len(rows), self._own.shape[1]), device=self._device)
        for owner in self.owners(rows):
            first, last = np.searchsorted(rows, self._starts[owner : owner + 2]).tolist()
            if owner == self._rank:
                block[first:last] = self.own(rows[first:last]).to(self._device)
            dist.broadcast(block[first:last], src=owner)
        return block.cpu()


def add_scores(counts: PairCounts, device: torch.device) -> None:
    """Share the scores of relevant pairs, each computed by one worker, with all workers."""
    counts.scores = _summed(counts.scores, device)


def add_counts(counts: PairCounts, device: torch.device) -> None:
    """Replace the counts by their sums over all workers."""
    counts.higher, counts.equal = _summed(counts.higher, device), _summed(counts.equal, device)
    counts.not_finite = _summed(counts.not_finite, device)


def _summed(values: np.ndarray, device: torch.device) -> np.ndarray:
    return sum_numbers(torch.from_numpy(values).to(device)).cpu().numpy()


def evaluate_shares(own: EmbeddedRows, similarity: SimilarityKind, rank: int, device: torch.device) -> list[Direction]:
    """`evaluate_retrieval` of all workers' rows, in order of rank; equal on every worker.

    device: where the workers' collectives run; scores are computed on the CPU.
    """
    shared = _SharedRows(own, rank, device)
    return [_direction(shared, ranking, similarity) for ranking in rankings(shared.without_vectors)]


class _SharedRows:
    def __init__(self, own: EmbeddedRows, rank: int, device: torch.device) -> None:
        self.rank, self.device = rank, device
        names = list(own.vectors)
        columns = [own.clip_key, own.video_key, *(own.present[name] for name in names)]
        (clip, video, *present), starts = gather_columns(columns, device)
        none = np.zeros((len(clip), 0), np.float32)
        self.without_vectors = EmbeddedRows(
            dict.fromkeys(names, none), dict(zip(names, present, strict=True)), clip, video
        )
        self._vectors = {name: SharedVectors(held, starts, rank, device) for name, held in own.vectors.items()}

    def owners(self, entries: Entries) -> tuple[int, ...]:
        return self._vectors[entries.names[0]].owners(_rows(entries))

    def own(self, entries: Entries) -> Entries:
        """`entries` with their vectors, all of which this worker has."""
        return _filled(entries, [self._vectors[name].own(_rows(entries)) for name in entries.names])

    def fetch(self, entries: Entries) -> Entries:
        """`entries`, the same on every worker, with their vectors, fetched from the workers that have them."""
        return _filled(entries, [self._vectors[name].fetch(_rows(entries)) for name in entries.names])


def _rows(entries: Entries) -> np.ndarray:
    assert entries.rows is not None, "entries of a ranking are rows"
    return entries.rows


def _filled(entries: Entries, vectors: list[Float32[Tensor, "entries dim"]]) -> Entries:
    masks = (torch.from_numpy(present[:, None]) for present in entries.present)
    parts = tuple(torch.where(has, part, 0) for has, part in zip(masks, vectors, strict=True))
    return Entries(parts, entries.present, entries.key)


class _OwnQueries:
    """The blocks of queries that this worker ranks: those whose first query it has."""

    def __init__(self, shared: _SharedRows, queries: Entries) -> None:
        self._shared, self._queries = shared, queries
        self._fetched: dict[int, Entries] = {}
        self._parts = []
        for part in slices(len(queries.key), QUERY_CHUNK):
            owners = shared.owners(queries.select(part))
            fetched = shared.fetch(queries.select(part)) if len(owners) > 1 else None
            if owners[0] == shared.rank:
                self._parts.append(part)
                if fetched is not None:
                    self._fetched[part.start] = fetched

    def __iter__(self) -> Iterator[tuple[slice, Entries]]:
        for part in self._parts:
            held = self._fetched.get(part.start)
            yield part, self._shared.own(self._queries.select(part)) if held is None else held


def _direction(shared: _SharedRows, ranking: Ranking, similarity: SimilarityKind) -> Direction:
    counts = PairCounts(ranking.relevance)
    queries = _OwnQueries(shared, ranking.queries)
    blocks: dict[tuple[int, int], np.ndarray] = {}
    for items, held in _blocks(shared, ranking.items):
        for part, entries in queries:
            if counts.relevant_in(part, items):
                block = _scores(entries, held, similarity)
                counts.take(part, items, block)
                keep(blocks, (part.start, items.start), block)
    add_scores(counts, shared.device)
    for items, held in _blocks(shared, ranking.items):
        for part, entries in queries:
            name = part.start, items.start
            counts.count(part, blocks.pop(name) if name in blocks else _scores(entries, held, similarity))
    add_counts(counts, shared.device)
    return of_standing(ranking, counts.standing())


def _blocks(shared: _SharedRows, items: Entries) -> Iterator[tuple[slice, Entries]]:
    return ((part, shared.fetch(items.select(part))) for part in slices(len(items.key), ITEM_CHUNK))


def _scores(queries: Entries, items: Entries, similarity: SimilarityKind) -> np.ndarray:
    return block_scores(queries, items, similarity)(slice(0, len(queries.key)), slice(0, len(items.key)))
