"""Retrieval metrics of rows that several workers embedded, each of which ranks its share of the queries.

The metrics are those of `evaluate_retrieval` on all rows, bit for bit: scores are computed in the same blocks of
queries and items, from the same rows in the same order, and only counts are summed over workers. No worker holds more
vectors than its own rows, one block of items and one of queries. Between two collectives a worker compares one block of
items with its share of the queries, however large the validation set is.
"""

from collections.abc import Iterator

import numpy as np
import torch
from jaxtyping import Float32
from torch import Tensor

from vtr_core.metrics.ranking import ITEM_CHUNK, QUERY_CHUNK
from vtr_core.metrics.standing import PairCounts, keep, slices
from vtr_core.retrieval.embed.clips import EmbeddedRows
from vtr_core.retrieval.evaluate.entries import Entries
from vtr_core.retrieval.evaluate.retrieval import Direction, Ranking, of_standing, rankings
from vtr_core.retrieval.evaluate.scoring import block_scores
from vtr_core.similarity import SimilarityKind
from vtr_core.train.distributed.row_shares import SharedVectors, add_counts, add_scores, gather_columns


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
    kept = (torch.from_numpy(present[:, None]) for present in entries.present)
    parts = tuple(torch.where(there, part, 0) for there, part in zip(kept, vectors, strict=True))
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
    kept: dict[tuple[int, int], np.ndarray] = {}
    for items, held in _blocks(shared, ranking.items):
        for part, asked in queries:
            if counts.relevant_in(part, items):
                block = _scores(asked, held, similarity)
                counts.take(part, items, block)
                keep(kept, (part.start, items.start), block)
    add_scores(counts, shared.device)
    for items, held in _blocks(shared, ranking.items):
        for part, asked in queries:
            name = part.start, items.start
            counts.count(part, kept.pop(name) if name in kept else _scores(asked, held, similarity))
    add_counts(counts, shared.device)
    return of_standing(ranking, counts.standing())


def _blocks(shared: _SharedRows, items: Entries) -> Iterator[tuple[slice, Entries]]:
    return ((part, shared.fetch(items.select(part))) for part in slices(len(items.key), ITEM_CHUNK))


def _scores(queries: Entries, items: Entries, similarity: SimilarityKind) -> np.ndarray:
    return block_scores(queries, items, similarity)(slice(0, len(queries.key)), slice(0, len(items.key)))
