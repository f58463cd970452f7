"""Binary columns as arrays, and padded frames."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vtr_core.data.records.arrays import PaddedFrames, as_rows, as_sequences, fixed_size_binary, padded, sequence_binary
from vtr_core.errors import DatasetError

FLOAT16, INT32 = np.dtype(np.float16), np.dtype(np.int32)


def test_rows_and_a_part_of_them() -> None:
    rows = np.arange(12, dtype=np.float16).reshape(4, 3)
    column = fixed_size_binary(rows)
    assert as_rows(column, FLOAT16).tolist() == rows.tolist()
    assert as_rows(column.slice(1, 2), FLOAT16).tolist() == rows[1:3].tolist()


@given(st.lists(st.integers(0, 4), max_size=6), st.integers(1, 3), st.sampled_from([FLOAT16, INT32]), st.data())
def test_sequences_and_a_part_of_them(counts: list[int], dim: int, dtype: np.dtype, data: st.DataObject) -> None:
    cells = [np.arange(count * dim, dtype=dtype).reshape(count, dim) + row for row, count in enumerate(counts)]
    first = data.draw(st.integers(0, len(cells)))
    last = data.draw(st.integers(first, len(cells)))
    sequences = as_sequences(sequence_binary(cells).slice(first, last - first), dim, dtype)
    assert sequences.counts.tolist() == counts[first:last]
    assert sequences.vectors.dtype == dtype
    assert sequences.vectors.shape == (sum(counts[first:last]), dim)
    assert sequences.vectors.tolist() == [vector for cell in cells[first:last] for vector in cell.tolist()]


def test_an_absent_sequence_is_empty() -> None:
    sequences = as_sequences(sequence_binary([None, np.ones((2, 3), FLOAT16), None]), 3, FLOAT16)
    assert sequences.counts.tolist() == [0, 2, 0]


def test_sequences_are_views() -> None:
    column = sequence_binary([np.ones((2, 3), FLOAT16)])
    assert not as_sequences(column, 3, FLOAT16).vectors.flags.owndata


def test_another_dimension_is_a_mistake_of_ours() -> None:
    with pytest.raises(DatasetError, match="whole vectors of 4"):
        as_sequences(sequence_binary([np.ones((2, 3), FLOAT16)]), 4, FLOAT16)


DIM = 3


def slowly(cells: list[np.ndarray], max_frames: int) -> tuple[list[object], list[object]]:
    length = max([1, *(min(len(cell), max_frames) for cell in cells)])
    values, mask = [], []
    for cell in cells:
        remote = [t < len(cell) and t < max_frames for t in range(length)]
        values.append([cell[t].tolist() if remote[t] else [0.0] * DIM for t in range(length)])
        mask.append(remote)
    return values, mask


def random_cells(counts: list[int]) -> list[np.ndarray]:
    generator = np.random.default_rng(0)
    return [generator.standard_normal((count, DIM)).astype(np.float16) for count in counts]


@given(st.lists(st.integers(0, 7), min_size=1, max_size=6), st.integers(1, 9))
def test_padding_and_mask_by_hand(counts: list[int], max_frames: int) -> None:
    cells = random_cells(counts)
    frames = padded(sequence_binary(cells), DIM, max_frames)
    values, mask = slowly(cells, max_frames)
    assert frames.values.tolist() == values
    assert frames.mask.tolist() == mask
    assert frames.values.dtype == np.float16


def test_a_part_of_a_column() -> None:
    cells = random_cells([2, 5, 0, 3])
    frames = padded(sequence_binary(cells).slice(1, 3), DIM, 4)
    values, mask = slowly(cells[1:], 4)
    assert (frames.values.tolist(), frames.mask.tolist()) == (values, mask)


def test_the_first_frames_of_a_longer_row_are_kept() -> None:
    (cell,) = random_cells([6])
    assert padded(sequence_binary([cell]), DIM, 2).values[0].tolist() == cell[:2].tolist()


def shapes(result: PaddedFrames) -> tuple[tuple[int, ...], tuple[int, ...]]:
    return result.values.shape, result.mask.shape


def test_there_is_at_least_one_frame() -> None:
    absent = padded(sequence_binary([None, None]), DIM, 5)
    assert shapes(absent) == ((2, 1, DIM), (2, 1))
    assert not absent.mask.any()
    assert shapes(padded(sequence_binary([]), DIM, 5)) == ((0, 1, DIM), (0, 1))
