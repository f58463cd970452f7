"""Ray Data executes a plan: reading tasks anywhere in the cluster make batches, each train worker streams its own.

Every worker runs one stream over *its part* of the plan, so what it gets, and in which order, does not depend on timing
or on the other workers. A stream's item is a window; its task reads the row groups that the worker's part of the window
touches and yields one block row per batch, whose cells are the batch's arrays as bytes: nothing is rebatched or sliced.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial

import numpy as np
import pyarrow as pa
import ray
from ray.data import DataContext, Dataset

from vtr_core.data.assemble import Columns, RowGroupReader, assemble
from vtr_core.data.plan import Plan
from vtr_core.data.schema import FEATURE_DTYPE, TOKEN_DTYPE

WINDOWS_PER_STREAM = 256
"""Windows planned into one Ray Data execution; the next one starts when they are read."""


@dataclass(frozen=True)
class Part:
    """Worker `rank` of `world`."""

    rank: int
    world: int


def stream(reader: RowGroupReader, plan: Plan, part: Part, first_step: int, prefetch: int = 2) -> Iterator[Columns]:
    """The batches of `part` from `first_step` on, without end, as {column: array} with the global `step` added.

    The arrays are views of Ray's shared memory: read-only, and valid as long as they are referenced.
    """
    number = plan.window_of(first_step)
    while True:
        windows = _windows(reader, plan, part, range(number, number + WINDOWS_PER_STREAM))
        for block in windows.iter_batches(batch_size=1, batch_format="pyarrow", prefetch_batches=prefetch):
            batch = _decode(block)
            if int(batch["step"][0]) >= first_step:
                yield batch
        number += WINDOWS_PER_STREAM


def _windows(reader: RowGroupReader, plan: Plan, part: Part, numbers: range) -> Dataset:
    """A lazy data set whose rows are the batches of the windows, in order."""
    context = DataContext.get_current()
    context.enable_progress_bars = False
    context.execution_options.preserve_order = True
    context.execution_options.verbose_progress = False
    items = [{"id": number} for number in numbers]
    source = ray.data.from_items(items, override_num_blocks=len(items))
    read = partial(_read_windows, reader, plan, part)
    return source.map_batches(read, batch_size=1, batch_format="pyarrow", zero_copy_batch=True)


def _read_windows(reader: RowGroupReader, plan: Plan, part: Part, items: pa.Table) -> Iterator[pa.Table]:
    """One row per batch of the windows whose numbers are in `items`."""
    for number in items.column("id").to_pylist():
        batches = [batch.part(part.rank, part.world) for batch in plan.window(number)]
        read = assemble(reader, plan.row_groups, batches, plan.extra_captions)
        for batch, columns in zip(batches, read, strict=True):
            yield _encode(batch.step, columns)


def _encode(step: int, columns: Columns) -> pa.Table:
    """One row: each array as the bytes of one large-binary cell, without a copy."""
    cells = {"step": _cell(np.array([step], np.int64))}
    cells.update((name, _cell(array)) for name, array in columns.items())
    return pa.table(cells)


def _cell(array: np.ndarray) -> pa.Array:
    data = np.ascontiguousarray(array)
    offsets = pa.py_buffer(np.array([0, data.nbytes], np.int64))
    return pa.LargeBinaryArray.from_buffers(pa.large_binary(), 1, [None, offsets, pa.py_buffer(data)])


def _decode(block: pa.Table) -> Columns:
    """The inverse of `_encode`; dtypes follow from the column's name and shapes from the number of rows."""
    rows = len(block.column("clip_key")[0].as_buffer()) // 8
    columns = {name: _view(name, block.column(name)[0].as_buffer(), rows) for name in block.column_names}
    if "candidate_tokens" in columns:
        columns["candidate_tokens"] = columns["candidate_tokens"].reshape(rows, -1, columns["tokens"].shape[1])
    return columns


def _view(name: str, data: pa.Buffer, rows: int) -> np.ndarray:
    if name == "step" or name.endswith("_key"):
        return np.frombuffer(data, np.int64)
    if name.startswith("has_"):
        return np.frombuffer(data, np.bool_)
    dtype = TOKEN_DTYPE if name in ("tokens", "candidate_tokens") else FEATURE_DTYPE
    return np.frombuffer(data, dtype).reshape(rows, -1)
