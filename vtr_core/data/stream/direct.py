"""A plan's batches read by threads of this process, without Ray, for a single worker on the machine of the shards."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import numpy as np

from vtr_core.config.shards import OnBadShard
from vtr_core.data.plan.plan import Part, Plan
from vtr_core.data.reading.replacing import Each
from vtr_core.data.reading.row_groups import Columns, RowGroupReader
from vtr_core.data.stream.assemble import assemble
from vtr_core.processors import num_usable

THREADS = 4
"""The most threads that read; reading, checksums and copies hold no lock of Python's."""


def read_directly(
    reader: RowGroupReader,
    plan: Plan,
    part: Part,
    first_step: int,
    prefetch: int = 2,  # noqa: ARG001
    on_bad_shard: OnBadShard = "fail",
) -> Iterator[Columns]:
    """The endless batches of `part` from `first_step` on, equal to those of `vtr_core.data.stream.reading.stream`.

    One window is read ahead, independently of its number of batches.
    """
    number, threads = plan.window_of(first_step), min(THREADS, num_usable())
    with ThreadPoolExecutor(threads, "read-group") as groups, ThreadPoolExecutor(1, "read-window") as ahead:
        read = partial(_window, reader, plan, part, on_bad_shard, groups.map)
        following = ahead.submit(read, number)
        while True:
            batches, number = following.result(), number + 1
            following = ahead.submit(read, number)
            yield from (batch for batch in batches if int(batch["step"][0]) >= first_step)


def _window(
    reader: RowGroupReader, plan: Plan, part: Part, on_bad_shard: OnBadShard, each: Each, number: int
) -> list[Columns]:
    planned = [batch.part(part.rank, part.world) for batch in plan.window(number)]
    places = dict(enumerate(plan.row_groups))
    read = assemble(reader, places, planned, plan.extra_captions, on_bad_shard, plan.max_frames, each)
    return [{"step": np.array([batch.step], np.int64), **next(read)} for batch in planned]
