"""Values that lie plainly in a file are those that a Parquet reader decodes; any other byte is noticed."""

import io
from collections.abc import Callable

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vtr_core.data.shards.pages import PageFault, has_cells, plain_cells, plain_values, value_bytes

ROWS = 300
WRITTEN = {"compression": "none", "use_dictionary": False, "write_statistics": False, "write_page_checksum": True}


def column(
    array: pa.Array, nullable: bool = False, **options: object
) -> tuple[np.ndarray, pq.ColumnChunkMetaData, pq.ColumnSchema]:
    """A column's chunk as it lies in a file, and what the footer says of it."""
    schema = pa.schema([pa.field("c", array.type, nullable=nullable)])
    sink = io.BytesIO()
    pq.write_table(pa.table([array], schema=schema), sink, **{**WRITTEN, **options})
    metadata = pq.read_metadata(io.BytesIO(sink.getvalue()))
    stated = metadata.row_group(0).column(0)
    begin = stated.data_page_offset
    chunk = np.frombuffer(sink.getvalue(), np.uint8)[begin : begin + stated.total_compressed_size]
    return chunk, stated, metadata.schema.column(0)


def written(array: pa.Array, nullable: bool = False, **options: object) -> tuple[np.ndarray, int | None]:
    """A column's chunk, and the bytes that its values take."""
    chunk, stated, schema = column(array, nullable, **options)
    return chunk, value_bytes(stated, schema)


CONTENT = np.random.default_rng(0).integers(0, 255, (ROWS, 6), dtype=np.uint8)
COLUMNS: dict[str, tuple[pa.Array, bytes]] = {
    "binary": (pa.array([row.tobytes() for row in CONTENT], pa.binary(6)), CONTENT.tobytes()),
    "int64": (pa.array(range(ROWS), pa.int64()), np.arange(ROWS, dtype=np.int64).tobytes()),
    "double": (pa.array(np.arange(ROWS) / 7), (np.arange(ROWS) / 7).tobytes()),
    "bool": (pa.array(CONTENT[:, 0] > 99), np.packbits(CONTENT[:, 0] > 99, bitorder="little").tobytes()),
}


@pytest.mark.parametrize("name", COLUMNS)
def test_the_values_are_those_that_were_written(name: str) -> None:
    array, expected = COLUMNS[name]
    chunk, size = written(array)
    assert size is not None
    assert plain_values(chunk, size).tobytes() == expected


@pytest.mark.parametrize("name", COLUMNS)
@given(position=st.floats(0, 1, exclude_max=True), bit=st.integers(0, 7))
def test_no_flipped_bit_changes_values_unnoticed(name: str, position: float, bit: int) -> None:
    array, expected = COLUMNS[name]
    chunk, size = written(array)
    assert size is not None
    damaged = chunk.copy()
    damaged[int(position * len(chunk))] ^= 1 << bit
    try:
        found = plain_values(damaged, size)
    except PageFault:
        return
    assert found.tobytes() == expected  # a bit of the header that says nothing of the values


@pytest.mark.parametrize(
    "write",
    [
        lambda: written(pa.array(["a"] * ROWS)),
        lambda: written(pa.array(range(ROWS)), nullable=True),
        lambda: written(pa.array(range(ROWS)), use_dictionary=True),
        lambda: written(pa.array(range(ROWS)), compression="snappy"),
    ],
)
def test_other_columns_have_to_be_decoded(write: Callable[[], tuple[np.ndarray, int | None]]) -> None:
    assert write()[1] is None


def test_several_pages_are_no_plain_page() -> None:
    chunk, size = written(pa.array(range(ROWS)), data_page_size=64, write_batch_size=10)
    assert size is not None
    with pytest.raises(PageFault):
        plain_values(chunk, size)


def test_a_page_without_a_checksum_is_refused() -> None:
    chunk, size = written(pa.array(range(ROWS)), write_page_checksum=False)
    assert size is not None
    with pytest.raises(PageFault):
        plain_values(chunk, size)


CELLS = [bytes([row % 251]) * (row % 7 * 100) for row in range(ROWS)]
"""Some are empty."""


def test_cells_are_those_that_were_written() -> None:
    chunk, stated, schema = column(pa.array(CELLS, pa.binary()))
    assert has_cells(stated, schema)
    found = plain_cells(chunk, ROWS)
    found.validate(full=True)
    assert found.to_pylist() == CELLS


@given(position=st.floats(0, 1, exclude_max=True), bit=st.integers(0, 7))
def test_no_flipped_bit_changes_cells_unnoticed(position: float, bit: int) -> None:
    damaged = column(pa.array(CELLS, pa.binary()))[0].copy()
    damaged[int(position * len(damaged))] ^= 1 << bit
    try:
        found = plain_cells(damaged, ROWS)
    except PageFault:
        return
    assert found.to_pylist() == CELLS


@pytest.mark.parametrize(("rows", "told"), [(ROWS + 1, "fewer"), (ROWS - 1, "more"), (0, "more")])
def test_another_number_of_cells_than_rows_is_a_fault(rows: int, told: str) -> None:
    with pytest.raises(PageFault, match=f"{told} cells than rows"):
        plain_cells(column(pa.array(CELLS, pa.binary()))[0], rows)


@pytest.mark.parametrize("size", [0, 1, 30, 100])
def test_a_chunk_cut_short_is_a_fault(size: int) -> None:
    with pytest.raises(PageFault):
        plain_cells(column(pa.array(CELLS, pa.binary()))[0][:size], ROWS)


@pytest.mark.parametrize("how", [{"nullable": True}, {"use_dictionary": True}, {"compression": "snappy"}])
def test_cells_stored_otherwise_have_to_be_decoded(how: dict[str, object]) -> None:
    _, stated, schema = column(pa.array(CELLS, pa.binary()), **how)  # type: ignore[arg-type]
    assert not has_cells(stated, schema)
