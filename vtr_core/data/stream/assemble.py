"""Batches from row groups: reads what a plan names and puts each row where it belongs. Knows nothing of Ray.

Features are most of what is read. Each piece of them goes from the file through the processor's cache into the batches
that its rows are planned for: a row is written to memory once, and rows that no batch wants are never written.
"""

from collections.abc import Iterator, Sequence

import numpy as np

from vtr_core.config.shards import OnBadShard
from vtr_core.data.plan.candidates import candidate_tokens
from vtr_core.data.plan.plan import BatchPlan
from vtr_core.data.plan.runs import Run, runs_of
from vtr_core.data.reading.replacing import Damaged, Places, readable
from vtr_core.data.reading.row_groups import TIMES, Columns, RowGroupReader
from vtr_core.data.records.frames import MAX_FRAMES
from vtr_core.data.records.schema import FEATURE_DTYPE, FeatureSpec, VideoSchema
from vtr_core.data.shards.recycling import RecycledMemory
from vtr_core.data.shards.shard_file import DamagedShard
from vtr_core.data.stream.assemble_videos import fill_videos


def assemble(
    reader: RowGroupReader,
    places: Places,
    batches: Sequence[BatchPlan],
    extra_captions: int = 0,
    on_bad_shard: OnBadShard = "fail",
    max_frames: int = MAX_FRAMES,
) -> Iterator[Columns]:
    """The rows of each planned batch, in order. Every row group is read once, all of them before the first batch.

    With `extra_captions` a batch has `candidate_tokens` (rows, extra_captions, max_words): see `candidate_tokens`. Of
    whole videos it has the first `max_frames` frames: see `fill_videos`.

    A row group that cannot be read or verified is a DamagedShard. With "skip", each of its rows is replaced by a row of
    the next readable row group of the whole batch, in cyclic order, so that the batch keeps its size and does not
    depend on the number of workers; a batch then has `replaced` (bad row groups, 2): the number of each of its bad row
    groups and of the rows replaced. Where no row group of a batch is readable, it is a DamagedShard all the same.
    """
    schema, tolerant = reader.manifest.schema, on_bad_shard == "skip"

    def fill(planned: Sequence[BatchPlan]) -> tuple[Iterator[Columns], Damaged]:
        if isinstance(schema, VideoSchema):
            return fill_videos(reader, schema, places, planned, max_frames, tolerant)
        return _fill_clips(reader, places, planned, extra_captions, tolerant)

    yield from readable(fill, reader, places, batches) if tolerant else fill(batches)[0]


def _fill_clips(
    reader: RowGroupReader,
    places: Places,
    batches: Sequence[BatchPlan],
    extra_captions: int,
    tolerant: bool,
) -> tuple[Iterator[Columns], Damaged]:
    """All batches; `tolerant`: unless a row group cannot be read, then what is wrong with each such one."""
    features = [column for column in reader.manifest.schema.features if column.name in reader.columns]
    filled = [_features(reader.memory, len(batch.row), features) for batch in batches]
    damaged: Damaged = {}
    for number, runs in runs_of(batches).items():
        scatter = _Scatter(filled, runs)
        try:
            columns = reader.scan(places[number], [column.name for column in features], scatter.take)
        except DamagedShard as error:
            if not tolerant:
                raise
            damaged[number] = error
        else:
            scatter.require_complete(len(features))
            columns = _with_candidates(columns, extra_captions)
            for run in runs:
                _put(columns, run, filled[run.batch], len(batches[run.batch].row), reader.memory)
    return _emptying(filled), damaged


def _emptying(filled: list[Columns]) -> Iterator[Columns]:
    """The batches, each let go of as it is given."""
    while filled:
        yield filled.pop(0)


class _Scatter:
    """Puts pieces of a row group into the batches, as its runs say."""

    def __init__(self, batches: Sequence[Columns], runs: Sequence[Run]) -> None:
        self._batches, self._runs = batches, runs
        self._orders = [None if (np.diff(run.row) >= 0).all() else np.argsort(run.row, kind="stable") for run in runs]
        """The order in which a piece comes upon a run's rows, where it is not the run's own."""
        self._rows = [
            run.row if order is None else run.row[order] for run, order in zip(runs, self._orders, strict=True)
        ]
        self._taken = 0

    def take(self, name: str, first: int, values: np.ndarray) -> None:
        """Rows `first`, … of a column, as bytes."""
        for run, order, rows in zip(self._runs, self._orders, self._rows, strict=True):
            a, b = rows.searchsorted((first, first + len(values))).tolist()
            if a < b:
                self._taken += b - a
                target = self._batches[run.batch][name].view(np.uint8)
                if order is None:
                    _take(values, rows[a:b] - first, target[run.begin + a : run.begin + b])
                else:
                    target[run.begin + order[a:b]] = values[rows[a:b] - first]

    def require_complete(self, columns: int) -> None:
        """Once all pieces of so many columns were taken."""
        wanted = sum(len(rows) for rows in self._rows) * columns
        assert self._taken == wanted, "a plan names rows that its row group does not have"


def _with_candidates(columns: Columns, extra: int) -> Columns:
    if extra == 0:
        return columns
    start, end = (columns.pop(name) for name in TIMES)
    found = candidate_tokens(columns["tokens"], columns["video_key"], start, end, extra)
    return {**columns, "candidate_tokens": found}


def _features(memory: RecycledMemory, rows: int, features: Sequence[FeatureSpec]) -> Columns:
    return {column.name: memory.empty((rows, column.dim), FEATURE_DTYPE) for column in features}


def _put(columns: Columns, run: Run, batch: Columns, rows: int, memory: RecycledMemory) -> None:
    """A run's rows of columns that are held whole into their batch, which has `rows` rows."""
    for name, values in columns.items():
        if name not in batch:
            batch[name] = _empty(memory, rows, values)
        _take(values, run.row, batch[name][run.begin : run.begin + len(run.row)])


def _take(source: np.ndarray, rows: np.ndarray, target: np.ndarray) -> None:
    """`target[i] = source[rows[i]]`; whole rows are copied as bytes, wherever they lie."""
    if source.ndim == 2:
        source, target = source.view(np.uint8), target.view(np.uint8)
    # mode="clip" changes nothing, but without it numpy copies into a buffer of its own first
    source.take(rows, axis=0, out=target, mode="clip")


def _empty(memory: RecycledMemory, rows: int, like: np.ndarray) -> np.ndarray:
    if like.dtype.hasobject:
        return np.empty((rows, *like.shape[1:]), like.dtype)
    return memory.empty((rows, *like.shape[1:]), like.dtype)
