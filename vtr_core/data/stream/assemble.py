"""Batches assembled from the row groups of a plan, independent of Ray."""

from collections.abc import Iterator, Sequence

import numpy as np

from vtr_core.config.shards import OnBadShard
from vtr_core.data.plan.candidates import candidate_tokens
from vtr_core.data.plan.plan import BatchPlan
from vtr_core.data.plan.runs import Run
from vtr_core.data.reading.replacing import Damaged, Each, Places, read_groups, readable
from vtr_core.data.reading.row_groups import TIMES, Columns, RowGroupReader
from vtr_core.data.records.frames import MAX_FRAMES
from vtr_core.data.records.pooled import pooled
from vtr_core.data.records.schema import FrameSchema, VideoSchema
from vtr_core.data.stream.assemble_frames import fill_frames
from vtr_core.data.stream.assemble_videos import fill_videos


def assemble(
    reader: RowGroupReader,
    places: Places,
    batches: Sequence[BatchPlan],
    extra_captions: int = 0,
    on_bad_shard: OnBadShard = "fail",
    max_frames: int = MAX_FRAMES,
    each: Each = map,
) -> Iterator[Columns]:
    """The rows of each planned batch, in order. Every row group is read once, before the first batch.

    With `extra_captions` a batch has `candidate_tokens` (rows, extra_captions, max_words): see `candidate_tokens`. For
    whole videos see `fill_videos`, for clips with frames `fill_frames`; `max_frames` limits the frames of a row. Row
    groups of clips and whole videos are read by `each`, which may do so on several threads.

    Raises DamagedShard for a row group that cannot be read or verified. With "skip", each of its rows is replaced by a
    row of the next readable row group of the whole batch, in cyclic order, so that the batch keeps its size and does
    not depend on the number of workers; a batch then has `replaced` (bad row groups, 2): for each bad row group its
    number and the number of replaced rows. DamagedShard also where no row group of a batch is readable.
    """
    schema, tolerant = reader.schema, on_bad_shard == "skip"

    def fill(planned: Sequence[BatchPlan]) -> tuple[Iterator[Columns], Damaged]:
        if isinstance(schema, VideoSchema):
            return fill_videos(reader, schema, places, planned, max_frames, tolerant, each)
        if isinstance(schema, FrameSchema):
            return fill_frames(reader, schema, places, planned, max_frames, tolerant)
        return _fill_clips(reader, places, planned, extra_captions, tolerant, each)

    yield from readable(fill, reader, places, batches) if tolerant else fill(batches)[0]


def _fill_clips(
    reader: RowGroupReader,
    places: Places,
    batches: Sequence[BatchPlan],
    extra_captions: int,
    tolerant: bool,
    each: Each,
) -> tuple[Iterator[Columns], Damaged]:
    """All batches, and with `tolerant` the faults of unreadable row groups, which invalidate the batches."""
    filled: list[Columns] = [{} for _ in batches]
    damaged: Damaged = {}

    def read(number: int, runs: Sequence[Run]) -> None:
        def into(name: str, values: int, dtype: np.dtype) -> list[np.ndarray]:
            return [_part(filled[run.batch], name, (len(batches[run.batch].row), values), dtype, run) for run in runs]

        columns = _with_candidates(reader.read_rows(places[number], [run.row for run in runs], into), extra_captions)
        for name, column in columns.items():
            for run in runs:
                shape = len(batches[run.batch].row), *column.shape[1:]
                _take(column, run.row, _part(filled[run.batch], name, shape, column.dtype, run))

    for _ in read_groups(read, batches, damaged, tolerant, each):
        pass
    return _emptying(filled), damaged


def _emptying(filled: list[Columns]) -> Iterator[Columns]:
    """The batches in order, each released after it was yielded."""
    while filled:
        yield filled.pop(0)


def _with_candidates(columns: Columns, extra: int) -> Columns:
    if extra == 0:
        return columns
    start, end = (columns.pop(name) for name in TIMES)
    found = candidate_tokens(columns["tokens"], columns["video_key"], start, end, extra)
    return {**columns, "candidate_tokens": found}


def _part(batch: Columns, name: str, shape: tuple[int, ...], dtype: np.dtype, run: Run) -> np.ndarray:
    """The memory of a run's rows in a column of a batch; `shape` is that of the whole column."""
    if name not in batch:  # another thread may put it there meanwhile
        batch.setdefault(name, pooled(shape, dtype))
    return batch[name][run.begin : run.begin + len(run.row)]


def _take(source: np.ndarray, rows: np.ndarray, target: np.ndarray) -> None:
    """`target[i] = source[rows[i]]`; rows are copied as bytes, also unaligned ones."""
    if source.ndim == 2:
        source, target = source.view(np.uint8), target.view(np.uint8)
    # indices are in range; with the default mode numpy would copy into a buffer first
    source.take(rows, axis=0, out=target, mode="clip")
