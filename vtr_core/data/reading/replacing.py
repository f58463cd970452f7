"""Replacement of the rows of unreadable row groups by rows of others of the same batch."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeVar

import numpy as np

from vtr_core.data.plan.plan import BatchPlan, RowGroup
from vtr_core.data.plan.runs import Run, runs_of
from vtr_core.data.reading.row_groups import Columns, RowGroupReader
from vtr_core.data.shards.shard_file import DamagedShard

Places = Mapping[int, RowGroup] | Sequence[RowGroup]
"""The position of each row group by its number."""

Damaged = dict[int, DamagedShard]
"""The fault of each unreadable row group by its number."""

Fill = Callable[[Sequence[BatchPlan]], tuple[Iterator[Columns], Damaged]]
"""Reads all batches; returns them with the unreadable row groups, whose presence invalidates the batches."""


Each = Callable[[Callable[[Any], Any], Iterable[Any]], Iterator[Any]]
"""`map`, or something like it that applies a function to every item on several threads; results are in order."""


G = TypeVar("G")


def read_groups(
    read: Callable[[int, Sequence[Run]], G],
    batches: Sequence[BatchPlan],
    damaged: Damaged,
    tolerant: bool,
    each: Each = map,
) -> Iterator[tuple[G, Sequence[Run]]]:
    """Each row group of the batches, read by its number and the runs of its rows with `read`, and those runs.

    With `tolerant` unreadable ones are left out and added to `damaged`; otherwise they raise DamagedShard.
    """

    def tried(item: tuple[int, Sequence[Run]]) -> tuple[G, Sequence[Run]] | None:
        number, runs = item
        try:
            return read(number, runs), runs
        except DamagedShard as error:
            if not tolerant:
                raise
            damaged[number] = error
            return None

    return (found for found in each(tried, runs_of(batches).items()) if found is not None)


def readable(fill: Fill, reader: RowGroupReader, places: Places, batches: Sequence[BatchPlan]) -> Iterator[Columns]:
    """The batches with rows of unreadable row groups replaced, each with `replaced`, see `assemble`.

    Repeated where the replacing row groups are unreadable as well.
    """
    damaged: Damaged = {}
    while True:
        found = [_without(damaged, reader, places, batch) for batch in batches]
        filled, more = fill([batch for batch, _ in found])
        if not more:
            return (_counted(columns, counts) for columns, (_, counts) in zip(filled, found, strict=True))
        damaged |= more


def _counted(columns: Columns, counts: np.ndarray) -> Columns:
    """The columns with the column `replaced`."""
    return {**columns, "replaced": np.concatenate([counts, columns.get("replaced", counts[:0])])}


def _without(
    damaged: Damaged, reader: RowGroupReader, places: Places, batch: BatchPlan
) -> tuple[BatchPlan, np.ndarray]:
    """The batch with the rows of damaged row groups replaced, and (bad row groups, 2): number and rows of each."""
    group, row = batch.group.copy(), batch.row.copy()
    counts = []
    for number in [number for number in batch.groups if number in damaged]:
        instead, rows = _next_readable(damaged, reader, places, batch, number)
        mine = batch.group == number
        group[mine] = instead
        row[mine] %= rows
        counts.append((number, np.count_nonzero(mine)))
    return replace(batch, group=group, row=row), np.array(counts, np.int64).reshape(-1, 2)


def _next_readable(
    damaged: Damaged, reader: RowGroupReader, places: Places, batch: BatchPlan, number: int
) -> tuple[int, int]:
    """Number and rows of the first row group after `number` that is not known to be damaged, in the cyclic order of the
    whole batch's row groups. Without any, raises the fault of `number`."""
    for other in sorted(batch.whole, key=lambda other: (other <= number, other)):
        if other not in damaged:
            try:
                return other, reader.rows(places[other])
            except DamagedShard as error:
                damaged[other] = error
    raise damaged[number]
