"""Ray Data executes a plan: reading tasks anywhere in the cluster make batches, each train worker streams its own.

Every worker runs one stream over *its part* of the plan, so what it gets, and in which order, does not depend on timing
or on the other workers. A stream's item is a window, with all that its task needs to know: which rows of which row
groups, and where these lie, so that a task costs the same whatever the size of the data set. The task reads the row
groups and yields one block row per batch, whose cells are the batch's arrays as bytes: nothing is rebatched, sliced or
copied but once into Ray's shared memory, from which the worker uses it.
"""

import json
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, replace
from functools import cache, partial

import numpy as np
import pyarrow as pa
import ray
from ray.data import DataContext, Dataset
from ray.exceptions import RayTaskError

from vtr_core.config.train import OnBadShard
from vtr_core.data.assemble import Columns, RowGroupReader, assemble
from vtr_core.data.manifest import Manifest, Shard
from vtr_core.data.plan import BatchPlan, Plan, RowGroup
from vtr_core.data.recycling import RecycledMemory
from vtr_core.data.schema import FEATURE_DTYPE, TOKEN_DTYPE
from vtr_core.errors import VtrError

WINDOWS = 256
"""Windows planned into one Ray Data execution; the next one starts when they are read."""
FIRST_WINDOWS = 16
"""Those of the first execution: planning them takes less time, and the first batch waits for it."""


@dataclass(frozen=True)
class Part:
    """Worker `rank` of `world`."""

    rank: int
    world: int


def stream(
    reader: RowGroupReader,
    plan: Plan,
    part: Part,
    first_step: int,
    prefetch: int = 2,
    on_bad_shard: OnBadShard = "fail",
) -> Iterator[Columns]:
    """The batches of `part` from `first_step` on, without end, as {column: array} with the global `step` added.

    The arrays are views of Ray's shared memory: read-only, and valid as long as they are referenced.
    """
    make = partial(_windows, reader, plan, part, on_bad_shard)
    number = plan.window_of(first_step)
    windows, number = make(range(number, number + FIRST_WINDOWS)), number + FIRST_WINDOWS
    with ThreadPoolExecutor(1, "plan-windows") as planner:
        while True:
            following = None
            for block in _blocks(windows, prefetch):
                if following is None:
                    following = planner.submit(make, range(number, number + WINDOWS))
                batch = _decode(block)
                if int(batch["step"][0]) >= first_step:
                    yield batch
            assert following is not None, "a window has batches"
            windows, number = following.result(), number + WINDOWS


def _blocks(windows: Dataset, prefetch: int) -> Iterator[pa.Table]:
    """The batches as they come from the tasks. A fault in the data is raised as itself, not as Ray's account of it."""
    try:
        yield from windows.iter_batches(batch_size=None, batch_format="pyarrow", prefetch_batches=prefetch)
    except RayTaskError as error:
        if isinstance(error.cause, VtrError):
            raise error.cause from error
        raise


def _windows(reader: RowGroupReader, plan: Plan, part: Part, on_bad_shard: OnBadShard, numbers: range) -> Dataset:
    """A lazy data set whose rows are the batches of the windows, in order."""
    context = DataContext.get_current()
    context.enable_progress_bars = False
    context.execution_options.preserve_order = True
    context.execution_options.verbose_progress = False
    context.memory_usage_poll_interval_s = None  # a thread for every task, for a figure that nobody reads
    context.target_max_block_size = 1  # a batch is a block: several would be copied into one
    items = ray.data.from_arrow([_item(reader.manifest, plan, part, number) for number in numbers])
    slim = replace(reader.manifest, shards=(), source={}, dropped={})
    read = partial(_read_window, slim, tuple(reader.columns), plan.extra_captions, on_bad_shard)
    return items.map_batches(read, batch_size=None, batch_format="pyarrow", zero_copy_batch=True)


def _item(manifest: Manifest, plan: Plan, part: Part, number: int) -> pa.Table:
    """One row for each batch of a window: the rows of this part. The table's metadata says where row groups lie."""
    batches = plan.window(number)
    places = {group: plan.row_groups[group] for batch in batches for group in batch.whole}
    shards = sorted({place.shard for place in places.values()})
    files = {
        "shards": [asdict(replace(manifest.shards[shard], row_groups=())) for shard in shards],
        "places": {group: [shards.index(place.shard), place.index] for group, place in places.items()},
    }
    parts = [batch.part(part.rank, part.world) for batch in batches]
    columns = {
        "step": [batch.step for batch in parts],
        "group": [batch.group for batch in parts],
        "row": [batch.row for batch in parts],
        "whole": [batch.whole for batch in parts],
        "files": [json.dumps(files), *[""] * (len(parts) - 1)],
    }
    return pa.table(columns, schema=_ITEM)


_ITEM = pa.schema(
    {
        "step": pa.int64(),
        "group": pa.list_(pa.int64()),
        "row": pa.list_(pa.int64()),
        "whole": pa.list_(pa.int64()),
        "files": pa.string(),
    }
)


def _read_window(
    manifest: Manifest, columns: Sequence[str], extra_captions: int, on_bad_shard: OnBadShard, item: pa.Table
) -> Iterator[pa.Table]:
    """One row per batch of a window, as `_item` describes it."""
    files = json.loads(item.column("files")[0].as_py())
    shards = tuple(Shard(**{**shard, "row_groups": ()}) for shard in files["shards"])
    places = {int(group): RowGroup(*place) for group, place in files["places"].items()}
    batches = [_batch(item, i) for i in range(len(item))]
    reader = RowGroupReader(replace(manifest, shards=shards), columns, _process_memory())
    read = assemble(reader, places, batches, extra_captions, on_bad_shard)
    for batch, arrays in zip(batches, read, strict=True):
        yield _encode(batch.step, arrays)


def _batch(item: pa.Table, i: int) -> BatchPlan:
    group, row = (item.column(name)[i].values.to_numpy() for name in ("group", "row"))
    return BatchPlan(item.column("step")[i].as_py(), group, row, tuple(item.column("whole")[i].as_py()))


@cache
def _process_memory() -> RecycledMemory:
    """The memory of all reading tasks that a process executes, one after the other."""
    return RecycledMemory()


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
    cells = {name: _content(block.column(name).chunk(0)) for name in block.column_names}
    rows = cells["clip_key"].size // 8
    columns = {name: _view(name, data, rows) for name, data in cells.items()}
    if "candidate_tokens" in columns:
        columns["candidate_tokens"] = columns["candidate_tokens"].reshape(rows, -1, columns["tokens"].shape[1])
    return columns


def _content(cell: pa.LargeBinaryArray) -> pa.Buffer:
    """The bytes of an array's only cell where they lie; taking the cell as a scalar would copy them."""
    _, offsets, data = cell.buffers()
    begin, end = np.frombuffer(offsets, np.int64, 2, cell.offset * 8).tolist()
    return data.slice(begin, end - begin)


def _view(name: str, data: pa.Buffer, rows: int) -> np.ndarray:
    if name == "replaced":
        return np.frombuffer(data, np.int64).reshape(-1, 2)
    if name == "step" or name.endswith("_key"):
        return np.frombuffer(data, np.int64)
    if name.startswith("has_"):
        return np.frombuffer(data, np.bool_)
    dtype = TOKEN_DTYPE if name in ("tokens", "candidate_tokens") else FEATURE_DTYPE
    return np.frombuffer(data, dtype).reshape(rows, -1)
