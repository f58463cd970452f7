"""Conversion between arrays and binary Arrow columns, whose rows are vectors (fixed size) or sequences of vectors."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from jaxtyping import Int64, Shaped

from vtr_core.errors import DatasetError

MAX_CELL_BYTES = 2**30
"""Maximum size of a variable-length cell, for Arrow's 32-bit offsets within a row group's column."""


def fixed_size_binary(rows: Shaped[np.ndarray, "rows dim"]) -> pa.FixedSizeBinaryArray:
    """A 2-D array as a fixed-size binary column: row i is the bytes of `rows[i]`, without copying."""
    rows = np.ascontiguousarray(rows)
    width = rows.shape[1] * rows.itemsize
    return pa.FixedSizeBinaryArray.from_buffers(pa.binary(width), len(rows), [None, pa.py_buffer(rows)])


def as_rows(column: pa.FixedSizeBinaryArray, dtype: np.dtype) -> Shaped[np.ndarray, "rows dim"]:
    """The inverse of `fixed_size_binary`: a (rows, dim) view of the column's buffer, without copying."""
    width = column.type.byte_width
    start = column.offset * width
    buffer = column.buffers()[1]
    flat = np.frombuffer(buffer, dtype, len(column) * width // dtype.itemsize, start)
    return flat.reshape(len(column), width // dtype.itemsize)


def sequence_binary(cells: Sequence[Shaped[np.ndarray, "_ dim"] | None]) -> pa.BinaryArray:
    """Sequences of vectors as a binary column: row i is the bytes of `cells[i]`, empty for None."""
    return pa.array([b"" if cell is None else cell.tobytes() for cell in cells], pa.binary())


@dataclass(frozen=True)
class Sequences:
    """The concatenated vectors of all rows of a column, and their number in each row."""

    vectors: Shaped[np.ndarray, "total dim"]
    counts: Int64[np.ndarray, " rows"]


def as_sequences(column: pa.BinaryArray, dim: int, dtype: np.dtype) -> Sequences:
    """The inverse of `sequence_binary` for vectors of `dim` values: views of the column's buffer, without copying.

    DatasetError for cells that are no multiple of this size, for instance after a manual change of the manifest.
    """
    if len(column) == 0:
        return Sequences(np.zeros((0, dim), dtype), np.zeros(0, np.int64))
    _, offsets, data = column.buffers()
    bounds = np.frombuffer(offsets, np.int32, len(column) + 1, column.offset * 4).astype(np.int64)
    width = dim * dtype.itemsize
    lengths = np.diff(bounds)
    if (lengths % width).any():
        raise DatasetError(f"cells do not hold whole vectors of {dim} {dtype}; rebuild the data set with vtr ingest")
    if bounds[-1] == bounds[0]:
        return Sequences(np.zeros((0, dim), dtype), lengths)
    flat = np.frombuffer(data, dtype, int(bounds[-1] - bounds[0]) // dtype.itemsize, int(bounds[0]))
    return Sequences(flat.reshape(-1, dim), lengths // width)
