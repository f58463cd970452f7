"""Batches from row groups: reads what a plan names and gathers its rows into arrays. Knows nothing of Ray."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from vtr_core.data.binary_columns import as_rows
from vtr_core.data.candidates import candidate_tokens
from vtr_core.data.manifest import Manifest
from vtr_core.data.plan import BatchPlan, RowGroup
from vtr_core.data.schema import FEATURE_DTYPE, TOKEN_DTYPE, Schema, require_clips
from vtr_core.errors import DatasetError

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
    """Reads row groups of a data set, with the columns projected."""

    manifest: Manifest
    columns: Sequence[str]

    def read(self, place: RowGroup) -> Columns:
        """One row group of clips as arrays; fixed-size columns are views of Arrow's buffers."""
        return {name: self._array(name, column) for name, column in self.read_arrow(place).items()}

    def read_arrow(self, place: RowGroup) -> dict[str, pa.Array]:
        """One row group of any record kind as Arrow arrays, each in one piece."""
        shard = self.manifest.shards[place.shard]
        location = self.manifest.location / shard.file
        try:
            with location.filesystem.open_input_file(location.path) as source:
                table = pq.ParquetFile(source).read_row_group(place.index, list(self.columns), use_threads=False)
        except FileNotFoundError as error:
            raise DatasetError(f"{location} is missing though the manifest lists it; restore or rebuild it") from error
        except (pa.ArrowException, OSError) as error:
            raise DatasetError(
                f"{location} (sha256 {shard.sha256[:12]}…) cannot be read: {_one_line(error)}; restore or rebuild it"
            ) from error
        return {name: _whole(table.column(name)) for name in self.columns}

    def _array(self, name: str, array: pa.Array) -> np.ndarray:
        if pa.types.is_fixed_size_binary(array.type):
            return as_rows(array, TOKEN_DTYPE if name == "tokens" else FEATURE_DTYPE)
        return array.to_numpy(zero_copy_only=False)


def _whole(column: pa.ChunkedArray) -> pa.Array:
    return column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()


def assemble(
    reader: RowGroupReader, places: Sequence[RowGroup], batches: Sequence[BatchPlan], extra_captions: int = 0
) -> Iterator[Columns]:
    """The rows of each planned batch, in order. Every row group is read once and let go after its last use.

    With `extra_captions` a batch has `candidate_tokens` (rows, extra_captions, max_words): see `candidate_tokens`.
    """
    last_use = {group: i for i, batch in enumerate(batches) for group in batch.groups}
    held: dict[int, Columns] = {}
    for i, batch in enumerate(batches):
        for group in batch.groups:
            if group not in held:
                held[group] = _with_candidates(reader.read(places[group]), extra_captions)
        yield _gather(held, batch)
        held = {group: columns for group, columns in held.items() if last_use[group] > i}


def _with_candidates(columns: Columns, extra: int) -> Columns:
    if extra == 0:
        return columns
    start, end = (columns.pop(name) for name in TIMES)
    found = candidate_tokens(columns["tokens"], columns["video_key"], start, end, extra)
    return {**columns, "candidate_tokens": found}


def _gather(held: Mapping[int, Columns], batch: BatchPlan) -> Columns:
    """The batch's rows out of the row groups; `batch.group` is sorted, so each group fills one contiguous part."""
    starts = np.flatnonzero(np.diff(batch.group, prepend=-1))
    bounds = [*starts.tolist(), len(batch.group)]
    groups = batch.groups
    first = held[groups[0]]
    gathered = {name: np.empty((len(batch.row), *array.shape[1:]), array.dtype) for name, array in first.items()}
    for group, (begin, end) in zip(groups, pairwise(bounds), strict=True):
        columns = held[group]
        for name, target in gathered.items():
            np.take(columns[name], batch.row[begin:end], axis=0, out=target[begin:end])
    return gathered


def _one_line(error: Exception) -> str:
    return " ".join(str(error).split())
