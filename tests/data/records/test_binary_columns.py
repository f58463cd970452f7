"""Arrays come back from binary columns as they went in, also from a part of a column."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vtr_core.data.records.arrays import as_rows, as_sequences, fixed_size_binary, sequence_binary
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
    found = as_sequences(sequence_binary(cells).slice(first, last - first), dim, dtype)
    assert found.counts.tolist() == counts[first:last]
    assert found.vectors.dtype == dtype
    assert found.vectors.shape == (sum(counts[first:last]), dim)
    assert found.vectors.tolist() == [vector for cell in cells[first:last] for vector in cell.tolist()]


def test_an_absent_sequence_is_empty() -> None:
    found = as_sequences(sequence_binary([None, np.ones((2, 3), FLOAT16), None]), 3, FLOAT16)
    assert found.counts.tolist() == [0, 2, 0]


def test_sequences_are_views() -> None:
    column = sequence_binary([np.ones((2, 3), FLOAT16)])
    assert not as_sequences(column, 3, FLOAT16).vectors.flags.owndata


def test_another_dimension_is_a_mistake_of_ours() -> None:
    with pytest.raises(DatasetError, match="whole vectors of 4"):
        as_sequences(sequence_binary([np.ones((2, 3), FLOAT16)]), 4, FLOAT16)
