"""Batches from row groups: reads what a plan names and gathers its rows into arrays. Knows nothing of Ray."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise

import numpy as np
import pyarrow as pa

from vtr_core.config.train import OnBadShard
from vtr_core.data.binary_columns import as_rows
from vtr_core.data.candidates import candidate_tokens
from vtr_core.data.manifest import Manifest
from vtr_core.data.plan import BatchPlan, RowGroup
from vtr_core.data.recycling import RecycledMemory
from vtr_core.data.schema import FEATURE_DTYPE, TOKEN_DTYPE, Schema, require_clips
from vtr_core.data.shard_file import DamagedShard, ShardFile

Columns = dict[str, np.ndarray]
"""Column name to array: features (rows, dim) float16, tokens (rows, max_words) int32, the rest (rows,)."""

KEYS = ("clip_key", "video_key", "caption_key")
TIMES = ("start", "end")


def training_columns(schema: Schema, extra_captions: int = 0) -> list[str]:
    """The columns that training and evaluation read: features with their presence, tokens and keys, no strings.

    With `extra_captions` also the times, by which `assemble` finds them. Raises SchemaMismatch for a schema of anything
    but clips.
    """
    clips = require_clips(schema, "the data set")
    names = [name for feature in clips.features for name in (feature.name, feature.presence)]
    return [*names, "tokens", *KEYS, *(TIMES if extra_captions else ())]


@dataclass(frozen=True)
class RowGroupReader:
    """Reads row groups of a data set, with the columns projected. All that it gives was verified by checksums."""

    manifest: Manifest
    columns: Sequence[str]
    memory: RecycledMemory = field(default_factory=RecycledMemory, compare=False, repr=False)

    def read(self, place: RowGroup) -> Columns:
        """One row group of clips as arrays. Raises DamagedShard."""
        return {name: _aligned(array) for name, array in self.read_in_place(place).items()}

    def read_in_place(self, place: RowGroup) -> Columns:
        """The same without a copy of the features: they are views of what was read, at any address."""
        with self._open(place) as file:
            rows = file.rows(place.index)
            plain = file.plain(place.index, self.columns)
            others = [name for name in self.columns if name not in plain]
            decoded = file.decoded(place.index, others) if others else {}
            types = {name: file.arrow_type(name) for name in plain}
        return {
            name: _from_bytes(plain[name], types[name], name, rows)
            if name in plain
            else _from_arrow(decoded[name], name)
            for name in self.columns
        }

    def read_arrow(self, place: RowGroup) -> dict[str, pa.Array]:
        """One row group of any record kind as Arrow arrays, each in one piece. Raises DamagedShard."""
        with self._open(place) as file:
            return file.decoded(place.index, self.columns)

    def _open(self, place: RowGroup) -> ShardFile:
        shard = self.manifest.shards[place.shard]
        return ShardFile(self.manifest.location / shard.file, shard, self.memory)


def _from_bytes(values: np.ndarray, kind: pa.DataType, name: str, rows: int) -> np.ndarray:
    """Values as they lie in a file: features as a view, the rest, which is small, as aligned copies."""
    if pa.types.is_boolean(kind):
        return np.unpackbits(values, count=rows, bitorder="little").view(np.bool_)
    if not pa.types.is_fixed_size_binary(kind):
        return _aligned(values.view(kind.to_pandas_dtype()))
    if name == "tokens":
        return _aligned(values.view(TOKEN_DTYPE)).reshape(rows, -1)
    return values.view(FEATURE_DTYPE).reshape(rows, -1)


def _from_arrow(array: pa.Array, name: str) -> np.ndarray:
    if pa.types.is_fixed_size_binary(array.type):
        return as_rows(array, TOKEN_DTYPE if name == "tokens" else FEATURE_DTYPE)
    return array.to_numpy(zero_copy_only=False)


def _aligned(array: np.ndarray) -> np.ndarray:
    return array if array.flags.aligned else array.copy()


def assemble(
    reader: RowGroupReader,
    places: Mapping[int, RowGroup] | Sequence[RowGroup],
    batches: Sequence[BatchPlan],
    extra_captions: int = 0,
    on_bad_shard: OnBadShard = "fail",
) -> Iterator[Columns]:
    """The rows of each planned batch, in order. Every row group is read once and let go after its last use.

    With `extra_captions` a batch has `candidate_tokens` (rows, extra_captions, max_words): see `candidate_tokens`.

    A row group that cannot be read or verified is a DamagedShard. With "skip", each of its rows is replaced by a row of
    the next readable row group of the whole batch, in cyclic order, so that the batch keeps its size and does not
    depend on the number of workers; a batch then has `replaced` (bad row groups, 2): the number of each of its bad row
    groups and of the rows replaced. Where no row group of a batch is readable, it is a DamagedShard all the same.
    """
    held = _Held(reader, places, extra_captions)
    last_use = {group: i for i, batch in enumerate(batches) for group in batch.groups}
    for i, batch in enumerate(batches):
        if on_bad_shard == "fail":
            yield _gather(held, batch)
        else:
            readable, replaced = _without_bad(held, batch)
            yield {**_gather(held, readable), "replaced": replaced}
        held.keep(group for group, last in last_use.items() if last > i)


class _Held:
    """Row groups in memory, read at their first use; one that cannot be read is remembered as its error."""

    def __init__(
        self, reader: RowGroupReader, places: Mapping[int, RowGroup] | Sequence[RowGroup], extra_captions: int
    ) -> None:
        self.memory = reader.memory
        self._reader, self._places, self._extra = reader, places, extra_captions
        self._groups: dict[int, Columns | DamagedShard] = {}

    def group(self, number: int) -> Columns:
        """The columns of a row group. Raises DamagedShard."""
        if number not in self._groups:
            self._groups[number] = self._read(number)
        found = self._groups[number]
        if isinstance(found, DamagedShard):
            raise found
        return found

    def is_readable(self, number: int) -> bool:
        """Whether a row group can be read."""
        try:
            self.group(number)
        except DamagedShard:
            return False
        return True

    def keep(self, numbers: Iterable[int]) -> None:
        """Let all other row groups go."""
        kept = set(numbers)
        self._groups = {number: columns for number, columns in self._groups.items() if number in kept}

    def _read(self, number: int) -> Columns | DamagedShard:
        try:
            return _with_candidates(self._reader.read_in_place(self._places[number]), self._extra)
        except DamagedShard as error:
            return error


def _without_bad(held: _Held, batch: BatchPlan) -> tuple[BatchPlan, np.ndarray]:
    """The batch with the rows of unreadable row groups replaced; and (bad row groups, 2): number and rows of each."""
    bad = [number for number in batch.groups if not held.is_readable(number)]
    group, row = batch.group.copy(), batch.row.copy()
    counts = []
    for number in bad:
        instead = _next_readable(held, batch, number)
        mine = batch.group == number
        group[mine] = instead
        row[mine] %= len(next(iter(held.group(instead).values())))
        counts.append((number, np.count_nonzero(mine)))
    return replace(batch, group=group, row=row), np.array(counts, np.int64).reshape(-1, 2)


def _next_readable(held: _Held, batch: BatchPlan, number: int) -> int:
    """The first readable row group after `number` among those of the whole batch, in cyclic order."""
    order = sorted(batch.whole, key=lambda other: (other <= number, other))
    readable = (other for other in order if held.is_readable(other))
    found = next(readable, None)
    return number if found is None else found  # reading the bad one itself raises its error


def _with_candidates(columns: Columns, extra: int) -> Columns:
    if extra == 0:
        return columns
    start, end = (columns.pop(name) for name in TIMES)
    found = candidate_tokens(columns["tokens"], columns["video_key"], start, end, extra)
    return {**columns, "candidate_tokens": found}


def _gather(held: _Held, batch: BatchPlan) -> Columns:
    """The batch's rows out of the row groups, one run of rows of the same row group after the other."""
    starts = np.flatnonzero(np.diff(batch.group, prepend=-1))
    runs = [(held.group(int(batch.group[a])), a, b) for a, b in pairwise([*starts.tolist(), len(batch.group)])]
    first = runs[0][0]
    gathered = {name: _empty(held.memory, len(batch.row), array) for name, array in first.items()}
    for columns, begin, end in runs:
        rows = batch.row[begin:end]
        assert rows.max() < len(next(iter(columns.values()))), "a plan names rows that its row group does not have"
        for name, target in gathered.items():
            _take(columns[name], rows, target[begin:end])
    return gathered


def _take(source: np.ndarray, rows: np.ndarray, target: np.ndarray) -> None:
    """`target[i] = source[rows[i]]`; whole rows are copied as bytes, wherever they lie."""
    if source.ndim == 2:
        source, target = source.view(np.uint8), target.view(np.uint8)
    # mode="clip" changes nothing, but without it numpy copies into a buffer of its own first
    np.take(source, rows, axis=0, out=target, mode="clip")


def _empty(memory: RecycledMemory, rows: int, like: np.ndarray) -> np.ndarray:
    if like.dtype.hasobject:
        return np.empty((rows, *like.shape[1:]), like.dtype)
    return memory.empty((rows, *like.shape[1:]), like.dtype)
