"""Binary columns as arrays, and padded frames."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vtr_core.data.records.arrays import (
    PaddedFrames,
    as_rows,
    as_sequences,
    fixed_size_binary,
    pad,
    sequence_binary,
)
from vtr_core.errors import DatasetError

FLOAT16, INT32 = np.dtype(np.float16), np.dtype(np.int32)
DIM = 3


def test_rows_and_a_part_of_them() -> None:
    rows = np.arange(12, dtype=np.float16).reshape(4, 3)
    column = fixed_size_binary(rows)
    assert as_rows(column, FLOAT16).tolist() == rows.tolist()
    assert as_rows(column.slice(1, 2), FLOAT16).tolist() == rows[1:3].tolist()


@given(st.lists(st.none() | st.integers(0, 4), max_size=6), st.integers(1, 3), st.sampled_from([FLOAT16, INT32]))
def test_sequences_and_a_part_of_them(counts: list[int | None], dim: int, dtype: np.dtype) -> None:
    cells = [
        None if count is None else np.arange(count * dim, dtype=dtype).reshape(count, dim) + row
        for row, count in enumerate(counts)
    ]
    for first in range(len(cells) + 1):
        sequences = as_sequences(sequence_binary(cells).slice(first), dim, dtype)
        assert sequences.counts.tolist() == [count or 0 for count in counts[first:]]
        assert (sequences.vectors.dtype, sequences.vectors.flags.owndata and len(sequences.vectors)) == (dtype, False)
        expected = [vector for cell in cells[first:] if cell is not None for vector in cell.tolist()]
        assert sequences.vectors.tolist() == expected


def test_cells_of_another_dimension_are_refused() -> None:
    with pytest.raises(DatasetError, match="whole vectors of 4"):
        as_sequences(sequence_binary([np.ones((2, 3), FLOAT16)]), 4, FLOAT16)


def padded(cells: list[np.ndarray], max_frames: int, first: int = 0) -> PaddedFrames:
    return pad(as_sequences(sequence_binary(cells).slice(first), DIM, FLOAT16), slice(None), max_frames)


@given(st.lists(st.integers(0, 7), min_size=1, max_size=6), st.integers(1, 9), st.integers(0, 2))
def test_padding_and_mask_by_hand(counts: list[int], max_frames: int, first: int) -> None:
    generator = np.random.default_rng(0)
    cells = [generator.standard_normal((count, DIM)).astype(np.float16) for count in counts]
    frames, cells = padded(cells, max_frames, first), cells[first:]
    length = max([1, *(min(len(cell), max_frames) for cell in cells)])
    mask = [[t < min(len(cell), max_frames) for t in range(length)] for cell in cells]
    values = [
        [cell[t].tolist() if t < min(len(cell), max_frames) else [0.0] * DIM for t in range(length)] for cell in cells
    ]
    assert (frames.values.tolist(), frames.mask.tolist()) == (values, mask)
    assert (frames.values.dtype, frames.values.shape) == (np.float16, (len(cells), length, DIM))
