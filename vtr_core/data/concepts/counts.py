"""How many captions of each video of a data set mention each concept: sparse counts, and their Parquet file."""

import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from jaxtyping import Int64

SCHEMA = pa.schema(
    [
        pa.field("video_key", pa.int64(), nullable=False),
        pa.field("largest", pa.int32(), nullable=False),
        pa.field("concepts", pa.list_(pa.int32()), nullable=False),
        pa.field("counts", pa.list_(pa.int32()), nullable=False),
        pa.field("ambiguous", pa.list_(pa.int64()), nullable=False),
    ]
)
"""One row per video. `largest` counts concepts outside the ranked names, too; `ambiguous` are keys of captions."""


@dataclass(frozen=True)
class ConceptCounts:
    """Entries bounds[v] … bounds[v + 1] belong to video v: `count` captions of it mention the ranked name `concept`."""

    video_key: Int64[np.ndarray, " videos"]
    largest: Int64[np.ndarray, " videos"]
    """The largest count of a video over all its kept concepts, 0 where it has none."""
    bounds: Int64[np.ndarray, " videos_and_one"]
    concept: Int64[np.ndarray, " entries"]
    count: Int64[np.ndarray, " entries"]
    ambiguous: Int64[np.ndarray, " captions"]
    """Keys of the captions that hold an ambiguous word, ascending, each once."""

    @classmethod
    def from_kept(
        cls,
        video_key: Sequence[int],
        kept: Sequence[Mapping[str, int]],
        names: Sequence[str],
        ambiguous: Sequence[int] = (),
    ) -> "ConceptCounts":
        """Of the kept counts of each video by name; concepts that are not among `names` only count for `largest`."""
        numbers = {name: number for number, name in enumerate(names)}
        inside = [[(numbers[name], n) for name, n in counts.items() if name in numbers] for counts in kept]
        entries = np.array([entry for counts in inside for entry in counts], np.int64).reshape(-1, 2)
        return cls(
            np.array(video_key, np.int64),
            np.array([max(counts.values(), default=0) for counts in kept], np.int64),
            np.cumsum([0, *map(len, inside)], dtype=np.int64),
            entries[:, 0],
            entries[:, 1],
            np.unique(np.array(ambiguous, np.int64)),
        )

    @classmethod
    def join(cls, parts: Sequence["ConceptCounts"]) -> "ConceptCounts":
        """The videos of several data sets together, ascending by key; a video that stands in two counts once."""
        lengths = np.concatenate([np.diff(part.bounds) for part in parts])
        starts = np.cumsum(lengths) - lengths
        keys, first = np.unique(np.concatenate([part.video_key for part in parts]), return_index=True)
        entry = ragged(starts[first], lengths[first])
        return cls(
            keys,
            np.concatenate([part.largest for part in parts])[first],
            np.cumsum(np.concatenate([np.zeros(1, np.int64), lengths[first]])),
            np.concatenate([part.concept for part in parts])[entry],
            np.concatenate([part.count for part in parts])[entry],
            np.unique(np.concatenate([part.ambiguous for part in parts])),
        )

    @cached_property
    def lengths(self) -> Int64[np.ndarray, " videos"]:
        """Entries of each video."""
        return np.diff(self.bounds)

    def to_bytes(self) -> bytes:
        """The Parquet file. The ambiguous captions stand in the first row."""
        offsets = pa.array(self.bounds, pa.int32())
        first_row = [self.ambiguous.tolist(), *([] for _ in range(len(self.video_key) - 1))]
        columns = [
            pa.array(self.video_key),
            pa.array(self.largest, pa.int32()),
            pa.ListArray.from_arrays(offsets, pa.array(self.concept, pa.int32())),
            pa.ListArray.from_arrays(offsets, pa.array(self.count, pa.int32())),
            pa.array(first_row[: len(self.video_key)], pa.list_(pa.int64())),
        ]
        sink = io.BytesIO()
        pq.write_table(pa.Table.from_arrays(columns, schema=SCHEMA), sink, compression="zstd")
        return sink.getvalue()

    @classmethod
    def from_bytes(cls, content: bytes) -> "ConceptCounts":
        """What `to_bytes` wrote; ValueError (or an ArrowException, which is one) for anything else."""
        table = pq.read_table(io.BytesIO(content), schema=SCHEMA)
        lengths = table.column("concepts").combine_chunks().value_lengths().to_numpy(zero_copy_only=False)
        if not table.column("counts").combine_chunks().value_lengths().equals(pa.array(lengths, pa.int32())):
            raise ValueError("its concepts and counts do not go together")
        return cls(
            _int64(table.column("video_key")),
            _int64(table.column("largest")),
            np.cumsum([0, *lengths.tolist()], dtype=np.int64),
            _int64(table.column("concepts").combine_chunks().flatten()),
            _int64(table.column("counts").combine_chunks().flatten()),
            _int64(table.column("ambiguous").combine_chunks().flatten()),
        )


def ragged(first: Int64[np.ndarray, " rows"], lengths: Int64[np.ndarray, " rows"]) -> Int64[np.ndarray, " entries"]:
    """first[0], first[0] + 1, …, lengths[0] of them, then those of the next row, and so on."""
    before = np.cumsum(lengths) - lengths
    return np.arange(lengths.sum()) + np.repeat(first - before, lengths)


def _int64(column: pa.Array | pa.ChunkedArray) -> Int64[np.ndarray, " values"]:
    return np.asarray(column.to_numpy(), np.int64)
