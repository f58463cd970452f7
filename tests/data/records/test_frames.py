"""Padded frames are what a loop over rows and frames puts there."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from vtr_core.data.records.arrays import PaddedFrames, padded, sequence_binary

DIM = 3


def slowly(cells: list[np.ndarray], max_frames: int) -> tuple[list[object], list[object]]:
    length = max([1, *(min(len(cell), max_frames) for cell in cells)])
    values, mask = [], []
    for cell in cells:
        there = [t < len(cell) and t < max_frames for t in range(length)]
        values.append([cell[t].tolist() if there[t] else [0.0] * DIM for t in range(length)])
        mask.append(there)
    return values, mask


def random_cells(counts: list[int]) -> list[np.ndarray]:
    generator = np.random.default_rng(0)
    return [generator.standard_normal((count, DIM)).astype(np.float16) for count in counts]


@given(st.lists(st.integers(0, 7), min_size=1, max_size=6), st.integers(1, 9))
def test_padding_and_mask_by_hand(counts: list[int], max_frames: int) -> None:
    cells = random_cells(counts)
    found = padded(sequence_binary(cells), DIM, max_frames)
    values, mask = slowly(cells, max_frames)
    assert found.values.tolist() == values
    assert found.mask.tolist() == mask
    assert found.values.dtype == np.float16


def test_a_part_of_a_column() -> None:
    cells = random_cells([2, 5, 0, 3])
    found = padded(sequence_binary(cells).slice(1, 3), DIM, 4)
    values, mask = slowly(cells[1:], 4)
    assert (found.values.tolist(), found.mask.tolist()) == (values, mask)


def test_the_first_frames_of_a_longer_row_are_kept() -> None:
    (cell,) = random_cells([6])
    assert padded(sequence_binary([cell]), DIM, 2).values[0].tolist() == cell[:2].tolist()


def shapes(found: PaddedFrames) -> tuple[tuple[int, ...], tuple[int, ...]]:
    return found.values.shape, found.mask.shape


def test_there_is_at_least_one_frame() -> None:
    absent = padded(sequence_binary([None, None]), DIM, 5)
    assert shapes(absent) == ((2, 1, DIM), (2, 1))
    assert not absent.mask.any()
    assert shapes(padded(sequence_binary([]), DIM, 5)) == ((0, 1, DIM), (0, 1))
