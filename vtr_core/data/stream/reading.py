"""Execution of a plan by Ray Data: reading tasks build batches, each training worker streams its own."""

import json
import math
from collections.abc import Generator, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import asdict, dataclass, replace
from functools import partial
from itertools import islice
from threading import Thread
from typing import Any, Generic, TypeVar

import numpy as np
import pyarrow as pa
import ray
from ray.data import DataContext, Dataset
from ray.exceptions import RayTaskError

from vtr_core.config.data_sets import OnBadShard
from vtr_core.data.manifest import Manifest, Shard
from vtr_core.data.plan import BatchVideos, Part, Plan, RowGroup, Sampling
from vtr_core.data.reading.row_groups import Columns, RowGroupReader
from vtr_core.data.records.arrays import KEPT, MEAN, kept_column
from vtr_core.data.records.schema import array_dtype
from vtr_core.data.stream.assemble import assemble
from vtr_core.errors import VtrError

T = TypeVar("T")


class Started(Generic[T]):
    """The items of a generator, the first of which a thread fetches from now on."""

    def __init__(self, items: Generator[T, None, None]) -> None:
        self._items, self._first = items, Future[list[T]]()
        Thread(target=self._begin, name="first-item", daemon=True).start()

    def _begin(self) -> None:
        try:
            self._first.set_result(list(islice(self._items, 1)))
        except BaseException as error:
            self._first.set_exception(error)

    def __iter__(self) -> Iterator[T]:
        """All items, once. An error of the first one is raised here."""
        yield from self._first.result()
        yield from self._items

    def close(self) -> None:
        """Closes the generator, at once or as soon as its first item is there; does not wait."""
        self._first.add_done_callback(lambda _: self._items.close())


WINDOWS = 1024
"""Maximum number of windows of one Ray Data execution."""
FIRST_WINDOWS, GROWTH = 8, 8
"""Windows of the first execution, which is planned before the first batch, and the growth factor of later ones."""
AHEAD = 32
"""Windows before the end of an execution (at most half of it) where the next one begins, which takes seconds."""


@dataclass(frozen=True)
class _Pace:
    """Settings of a Ray Data execution."""

    block_bytes: int
    """Maximum size of a block of batches of a window; a block costs Ray Data as much time as reading some MB."""
    cpus_per_task: float
    """CPUs reserved per task; tasks wait half of the time for their blocks to be taken, so 0.5 keeps CPUs busy."""
    processes: int | None
    """Maximum number of tasks at a time (None: as many as there are CPUs for)."""


_QUICK, _STEADY = _Pace(0, 1.0, 1), _Pace(2**28, 0.5, None)
"""For the first batches one batch a block and one process, which shares the processor's time with no other's start, for
low latency; and for all others."""


def stream(
    reader: RowGroupReader,
    plan: Plan,
    part: Part,
    first_step: int,
    prefetch: int = 2,
    on_bad_shard: OnBadShard = "fail",
) -> Iterator[Columns]:
    """The endless batches of `part` from `first_step` on, as {column: array} with the global `step` added.

    At least `prefetch` batches, in whole windows, are read ahead in the worker. The arrays are views of Ray's shared
    memory: read-only, and valid while they are referenced.
    """
    slim = replace(reader.manifest, shards=(), source={}, dropped={})
    slim_reader = replace(reader, manifest=slim, columns=tuple(reader.columns))
    task = _Task(slim_reader, part, plan.sampling, plan.extra_captions, plan.max_frames, on_bad_shard)

    def executed(items: Sequence[pa.Table], pace: _Pace) -> Started[Columns]:
        ahead = math.ceil(prefetch / plan.batches_per_window) if pace.block_bytes else prefetch
        return Started(_batches(_windows(task, items, pace), ahead))

    make = partial(window_items, reader.manifest, plan)
    numbers = range(plan.window_of(first_step), plan.window_of(first_step) + FIRST_WINDOWS)
    running = [executed(make(numbers), _QUICK)]
    with ThreadPoolExecutor(1, "plan-windows") as planner:
        try:
            while True:
                due = numbers.stop - min(AHEAD, max(1, len(numbers) // 2))
                numbers = range(numbers.stop, numbers.stop + min(GROWTH * len(numbers), WINDOWS))
                following = planner.submit(make, numbers)
                for batch in running[0]:
                    step = int(batch["step"][0])
                    if len(running) == 1 and plan.window_of(step) >= due:
                        running.append(executed(following.result(), _STEADY))
                    if step >= first_step:
                        yield batch
                running.pop(0)
        finally:
            for execution in running:
                execution.close()


def _batches(windows: Dataset, prefetch: int) -> Generator[Columns, None, None]:
    """The batches from the tasks. Data errors are raised with their own type, not as Ray's wrappers."""
    try:
        for block in windows.iter_batches(batch_size=None, batch_format="pyarrow", prefetch_batches=prefetch):
            yield from _decode(block)
    except RayTaskError as error:
        if isinstance(error.cause, VtrError):
            raise error.cause from error
        raise


def _windows(task: "_Task", items: Sequence[pa.Table], pace: _Pace) -> Dataset:
    """A lazy data set whose rows are the batches of windows, in order."""
    context = DataContext.get_current()
    context.enable_progress_bars = False
    context.execution_options.preserve_order = True
    context.execution_options.verbose_progress = False
    context.memory_usage_poll_interval_s = None  # avoids a thread per task for unused statistics
    context.target_max_block_size = 1  # keeps blocks separate; merging would copy them
    windows = ray.data.from_blocks(list(items))  # from_arrow runs a task for each item
    return windows.map_batches(
        partial(task.read, pace.block_bytes),
        batch_size=None,
        batch_format="pyarrow",
        zero_copy_batch=True,
        num_cpus=pace.cpus_per_task,
        concurrency=pace.processes,
    )


def window_items(manifest: Manifest, plan: Plan, numbers: range) -> list[pa.Table]:
    """The task inputs of windows: the videos of their batches, and the locations of the row groups.

    JSON in a single cell, since storing a table of many columns takes Ray several times as long.
    """
    return [pa.table({"window": [json.dumps(_item(manifest, plan, plan.videos(number)))]}) for number in numbers]


def _item(manifest: Manifest, plan: Plan, batches: Sequence[BatchVideos]) -> dict[str, Any]:
    places = {group: plan.row_groups[group] for batch in batches for group in batch.groups}
    shards = sorted({place.shard for place in places.values()})
    return {
        "shards": [asdict(replace(manifest.shards[shard], row_groups=(), thumbnails=None)) for shard in shards],
        "places": {group: [shards.index(place.shard), place.index] for group, place in places.items()},
        "batches": [
            [
                batch.step,
                *(
                    value.tolist()
                    for value in (batch.group, batch.first_row, batch.rows, batch.turn)
                    if value is not None
                ),
            ]
            for batch in batches
        ],
    }


@dataclass(frozen=True)
class _Task:
    """Reads the batches of a window, in a Ray task."""

    reader: RowGroupReader
    """Of a manifest without shards; items contain those of their window."""
    part: Part
    sampling: Sampling
    extra_captions: int
    max_frames: int
    on_bad_shard: OnBadShard

    def read(self, block_bytes: int, item: pa.Table) -> Iterator[pa.Table]:
        """The batches of a window, described by `_item`, in as few blocks as `block_bytes` allows."""
        window = json.loads(item.column("window")[0].as_py())
        shards = tuple(Shard(**{**shard, "row_groups": ()}) for shard in window["shards"])
        places = {int(group): RowGroup(*place) for group, place in window["places"].items()}
        manifest = replace(self.reader.manifest, shards=shards)
        videos = [BatchVideos(step, *map(np.array, values)) for step, *values in window["batches"]]
        planned = [batch.sample(manifest.schema, self.sampling) for batch in videos]
        batches = [batch.part(self.part.rank, self.part.world) for batch in planned]
        reader = replace(self.reader, manifest=manifest)
        read = assemble(reader, places, batches, self.extra_captions, self.on_bad_shard, self.max_frames)
        held: list[Columns] = []
        for batch in batches:
            held.append({"step": np.array([batch.step], np.int64), **next(read)})
            if sum(array.nbytes for array in held[-1].values()) * (len(held) + 1) > block_bytes:
                yield _encode(held)
                held.clear()
        if held:
            yield _encode(held)


def _encode(batches: Sequence[Columns]) -> pa.Table:
    """A table of one row: each array of each batch as the bytes of one large-binary cell, without a copy."""
    cells = {}
    for number, batch in enumerate(batches):
        for name, array in batch.items():
            data = np.ascontiguousarray(array)
            buffers = [None, pa.py_buffer(np.array([0, data.nbytes], np.int64)), pa.py_buffer(data)]
            cells[f"{number} {name}"] = pa.LargeBinaryArray.from_buffers(pa.large_binary(), 1, buffers)
    return pa.table(cells)


def _decode(block: pa.Table) -> Iterator[Columns]:
    """The inverse of `_encode`: views of the cells in place; access as scalars would copy them."""
    cells: dict[str, dict[str, pa.Buffer]] = {}
    for column in block.column_names:
        number, name = column.split(" ", 1)
        cell = block.column(column).chunk(0)
        _, offsets, data = cell.buffers()
        begin, end = np.frombuffer(offsets, np.int64, 2, cell.offset * 8).tolist()
        cells.setdefault(number, {})[name] = data.slice(begin, end - begin)
    return map(_arrays, cells.values())


def _arrays(cells: Mapping[str, pa.Buffer]) -> Columns:
    """The arrays of a batch; dtypes follow from column names, shapes from the number of rows."""
    rows = cells["clip_key"].size // 8
    columns = {name: _view(name, data, rows) for name, data in cells.items()}
    for name, values in columns.items():
        if kept_column(name) in columns:  # frames, padded to the longest row
            columns[name] = values.reshape(rows, max(1, int(columns[kept_column(name)].max())), -1)
    if "candidate_tokens" in columns:
        columns["candidate_tokens"] = columns["candidate_tokens"].reshape(rows, -1, columns["tokens"].shape[1])
    return columns


def _view(name: str, data: pa.Buffer, rows: int) -> np.ndarray:
    if name == "replaced":
        return np.frombuffer(data, np.int64).reshape(-1, 2)
    if name == "step" or name.endswith(("_key", KEPT)):
        return np.frombuffer(data, np.int64)
    if name.startswith("has_"):
        return np.frombuffer(data, np.bool_)
    if name.endswith(MEAN):
        return np.frombuffer(data, np.float32).reshape(rows, -1)
    return np.frombuffer(data, array_dtype(name)).reshape(rows, -1)
