"""How many captions of each video of a data set mention each concept: sparse counts, and their Parquet file."""

import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from jaxtyping import Int64
from scipy.sparse import csr_array, vstack

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
    """`counts` has a row for each video and a column for each ranked name: how many captions of it mention the name."""

    video_key: Int64[np.ndarray, " videos"]
    largest: Int64[np.ndarray, " videos"]
    """The largest count of a video over all its kept concepts, 0 where it has none."""
    counts: csr_array
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
        bounds = np.cumsum([0, *map(len, inside)], dtype=np.int64)
        return cls(
            np.array(video_key, np.int64),
            np.array([max(counts.values(), default=0) for counts in kept], np.int64),
            csr_array((entries[:, 1], entries[:, 0], bounds), (len(kept), len(names))),
            np.unique(np.array(ambiguous, np.int64)),
        )

    @classmethod
    def join(cls, parts: Sequence["ConceptCounts"]) -> "ConceptCounts":
        """The videos of several data sets together, ascending by key; a video that stands in two counts once."""
        keys, first = np.unique(np.concatenate([part.video_key for part in parts]), return_index=True)
        return cls(
            keys,
            np.concatenate([part.largest for part in parts])[first],
            vstack([part.counts for part in parts], format="csr")[first],
            np.unique(np.concatenate([part.ambiguous for part in parts])),
        )

    def to_bytes(self) -> bytes:
        """The Parquet file. The ambiguous captions stand in the first row."""
        offsets = pa.array(self.counts.indptr, pa.int32())
        first_row = [self.ambiguous.tolist(), *([] for _ in range(len(self.video_key) - 1))]
        columns = [
            pa.array(self.video_key),
            pa.array(self.largest, pa.int32()),
            pa.ListArray.from_arrays(offsets, pa.array(self.counts.indices, pa.int32())),
            pa.ListArray.from_arrays(offsets, pa.array(self.counts.data, pa.int32())),
            pa.array(first_row[: len(self.video_key)], pa.list_(pa.int64())),
        ]
        sink = io.BytesIO()
        pq.write_table(pa.Table.from_arrays(columns, schema=SCHEMA), sink, compression="zstd")
        return sink.getvalue()

    @classmethod
    def from_bytes(cls, content: bytes, num_names: int) -> "ConceptCounts":
        """What `to_bytes` wrote of so many names; ValueError (or an ArrowException, which is one) for anything else."""
        table = pq.read_table(io.BytesIO(content), schema=SCHEMA)
        lengths = table.column("concepts").combine_chunks().value_lengths().to_numpy(zero_copy_only=False)
        if not table.column("counts").combine_chunks().value_lengths().equals(pa.array(lengths, pa.int32())):
            raise ValueError("its concepts and counts do not go together")
        concepts, counts = (_int64(table.column(name).combine_chunks().flatten()) for name in ("concepts", "counts"))
        matrix = csr_array((counts, concepts, np.cumsum([0, *lengths.tolist()])), (len(lengths), num_names))
        matrix.check_format(full_check=True)
        return cls(
            _int64(table.column("video_key")),
            _int64(table.column("largest")),
            matrix,
            _int64(table.column("ambiguous").combine_chunks().flatten()),
        )


def _int64(column: pa.Array | pa.ChunkedArray) -> Int64[np.ndarray, " values"]:
    return np.asarray(column.to_numpy(), np.int64)
