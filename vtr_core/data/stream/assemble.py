"""Batches from row groups: reads what a plan names and puts each row where it belongs. Knows nothing of Ray."""

from collections.abc import Iterator, Sequence

import numpy as np

from vtr_core.config.shards import OnBadShard
from vtr_core.data.plan.candidates import candidate_tokens
from vtr_core.data.plan.plan import BatchPlan
from vtr_core.data.plan.runs import Run
from vtr_core.data.reading.replacing import Damaged, Places, read_groups, readable
from vtr_core.data.reading.row_groups import TIMES, Columns, RowGroupReader
from vtr_core.data.records.frames import MAX_FRAMES
from vtr_core.data.records.schema import FrameSchema, VideoSchema
from vtr_core.data.stream.assemble_frames import fill_frames
from vtr_core.data.stream.assemble_videos import fill_videos
from vtr_core.data.stream.pooled import pooled


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
    whole videos it has the first `max_frames` frames: see `fill_videos`; of clips with pictures see `fill_frames`.

    A row group that cannot be read or verified is a DamagedShard. With "skip", each of its rows is replaced by a row of
    the next readable row group of the whole batch, in cyclic order, so that the batch keeps its size and does not
    depend on the number of workers; a batch then has `replaced` (bad row groups, 2): the number of each of its bad row
    groups and of the rows replaced. Where no row group of a batch is readable, it is a DamagedShard all the same.
    """
    schema, tolerant = reader.manifest.schema, on_bad_shard == "skip"

    def fill(planned: Sequence[BatchPlan]) -> tuple[Iterator[Columns], Damaged]:
        if isinstance(schema, VideoSchema):
            return fill_videos(reader, schema, places, planned, max_frames, tolerant)
        if isinstance(schema, FrameSchema):
            return fill_frames(reader, schema, places, planned, max_frames, tolerant)
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
    filled: list[Columns] = [{} for _ in batches]
    damaged: Damaged = {}
    for group, runs in read_groups(lambda number: reader.read_in_place(places[number]), batches, damaged, tolerant):
        columns = _with_candidates(group, extra_captions)
        for run in runs:
            _put(columns, run, filled[run.batch], len(batches[run.batch].row))
    return _emptying(filled), damaged


def _emptying(filled: list[Columns]) -> Iterator[Columns]:
    """The batches in order, each released once it was yielded."""
    while filled:
        yield filled.pop(0)


def _with_candidates(columns: Columns, extra: int) -> Columns:
    if extra == 0:
        return columns
    start, end = (columns.pop(name) for name in TIMES)
    found = candidate_tokens(columns["tokens"], columns["video_key"], start, end, extra)
    return {**columns, "candidate_tokens": found}


def _put(columns: Columns, run: Run, batch: Columns, rows: int) -> None:
    """A run's rows of a row group's columns into their batch, which has `rows` rows."""
    for name, values in columns.items():
        assert run.row.max() < len(values), "a plan names rows that its row group does not have"
        if name not in batch:
            batch[name] = pooled((rows, *values.shape[1:]), values.dtype)
        _take(values, run.row, batch[name][run.begin : run.begin + len(run.row)])


def _take(source: np.ndarray, rows: np.ndarray, target: np.ndarray) -> None:
    """`target[i] = source[rows[i]]`; whole rows are copied as bytes, also unaligned ones."""
    if source.ndim == 2:
        source, target = source.view(np.uint8), target.view(np.uint8)
    # mode="clip" changes nothing, but without it numpy copies into a buffer of its own first
    source.take(rows, axis=0, out=target, mode="clip")
