"""Row groups of a data set as arrays, whole or in pieces, with others in place of unreadable ones."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa

from vtr_core.data.manifest import Manifest
from vtr_core.data.plan import BatchPlan, RowGroup, Run, runs_of
from vtr_core.data.records.arrays import as_rows, sequence_binary
from vtr_core.data.records.schema import (
    FRAMES,
    PIXELS,
    TOKEN_DTYPE,
    FrameSchema,
    ImageSchema,
    Schema,
    VideoSchema,
    array_dtype,
    require_clips,
)
from vtr_core.data.shards.shard_file import DamagedShard, ShardFile
from vtr_core.text.tokens.vocabulary import TEXT_BYTES, Vocabulary

Columns = dict[str, np.ndarray]
"""Column name to array: features (rows, dim) float16, tokens (rows, max_words) int32, pixels (rows, values) uint8, the
rest (rows,)."""

KEYS = ("clip_key", "video_key", "caption_key")
TIMES = ("start", "end")


def training_columns(schema: Schema, extra_captions: int = 0, names: Collection[str] | None = None) -> list[str]:
    """The columns that training reads: features (of clips with their presence), tokens and keys, no strings.

    names: the features of clips and whole videos that are read, where the schema has them; None: all. With
    `extra_captions` also the times, from which `assemble` determines the candidates. Raises SchemaMismatch for schemas
    other than clips, whole videos, images and frames.
    """
    if isinstance(schema, ImageSchema):
        return [PIXELS, "clip_key", "video_key"]
    if isinstance(schema, FrameSchema):
        return [FRAMES, "tokens", "clip_key", "video_key", "caption_keys"]
    read = [feature for feature in schema.features if names is None or feature.name in names]
    if isinstance(schema, VideoSchema):
        return [*(feature.name for feature in read), "tokens", "video_key", "caption_keys"]
    require_clips(schema, "the data set")
    columns = [column for feature in read for column in (feature.name, feature.presence)]
    return [*columns, "tokens", *KEYS, *(TIMES if extra_captions else ())]


@dataclass(frozen=True)
class RowGroupReader:
    """Reads columns of row groups of a data set, verified by checksums."""

    manifest: Manifest
    columns: Sequence[str]
    means: bool = True
    """Whether `assemble` adds the means of features over all frames of whole videos."""
    utf8: bool = False
    """Whether tokens are the captions' texts as bytes (`Vocabulary.utf8`) instead of the data set's words."""
    words: bool = False
    """With `utf8`: whether these texts follow the data set's words (`Vocabulary.with_texts`)."""

    @property
    def schema(self) -> Schema:
        """The data set's schema, with the length of a row of tokens."""
        schema = self.manifest.schema
        if not self.utf8:
            return schema
        return replace(schema, max_words=TEXT_BYTES + schema.max_words * self.words)

    def read(self, place: RowGroup) -> Columns:
        """One row group of clips as arrays. Raises DamagedShard."""
        with self._open(place) as file:
            columns = file.columns(place.index, self._stored)
        arrays = {
            name: as_rows(column, array_dtype(name))
            if pa.types.is_fixed_size_binary(column.type)
            else column.to_numpy(zero_copy_only=False)
            for name, column in columns.items()
        }
        if not self.utf8 or "caption" not in arrays:
            return arrays
        texts = Vocabulary.utf8().encode_all(arrays["caption"].tolist(), TEXT_BYTES)
        return {**arrays, "tokens": np.hstack([arrays["tokens"], texts]) if self.words else texts}

    def rows(self, place: RowGroup) -> int:
        """The number of rows of a row group. Raises DamagedShard."""
        with self._open(place) as file:
            return file.rows(place.index)

    def read_arrow(self, place: RowGroup) -> dict[str, pa.Array]:
        """One row group of any record kind as contiguous Arrow arrays. Raises DamagedShard."""
        with self._open(place) as file:
            columns = file.columns(place.index, self._stored)
        return self._with_text_cells(columns)

    @property
    def _stored(self) -> Sequence[str]:
        """The columns to read: captions instead of tokens where these are texts."""
        if not self.utf8 or "tokens" not in self.columns:
            return self.columns
        texts = "captions" if isinstance(self.manifest.schema, VideoSchema | FrameSchema) else "caption"
        read = [name for name in self.columns if name != "tokens" or self.words]
        return list(dict.fromkeys([*read, texts]))

    def _with_text_cells(self, columns: dict[str, pa.Array]) -> dict[str, pa.Array]:
        """Columns of whole videos or clips with frames, with a cell of tokens made of each row's captions."""
        if not self.utf8 or "captions" not in columns:
            return columns
        vocabulary = Vocabulary.utf8()
        cells = [vocabulary.encode_all(texts, TEXT_BYTES) for texts in columns["captions"].to_pylist()]
        if self.words:
            held = [np.frombuffer(cell, TOKEN_DTYPE) for cell in columns["tokens"].to_pylist()]
            cells = [
                np.hstack([words.reshape(len(texts), self.manifest.schema.max_words), texts])
                for words, texts in zip(held, cells, strict=True)
            ]
        return {**columns, "tokens": sequence_binary(cells)}

    def _open(self, place: RowGroup) -> ShardFile:
        shard = self.manifest.shards[place.shard]
        return ShardFile(self.manifest.place(shard), shard)


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

    return (group for group in each(tried, runs_of(batches).items()) if group is not None)


def readable(fill: Fill, reader: RowGroupReader, places: Places, batches: Sequence[BatchPlan]) -> Iterator[Columns]:
    """The batches with rows of unreadable row groups replaced, each with `replaced`, see `assemble`.

    Repeated where the replacing row groups are unreadable as well.
    """
    damaged: Damaged = {}
    while True:
        plans = [_without(damaged, reader, places, batch) for batch in batches]
        filled, more = fill([batch for batch, _ in plans])
        if not more:
            return (
                {**columns, "replaced": np.concatenate([counts, columns.get("replaced", counts[:0])])}
                for columns, (_, counts) in zip(filled, plans, strict=True)
            )
        damaged |= more


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
