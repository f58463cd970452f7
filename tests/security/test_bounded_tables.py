"""Arrow and Parquet files of kilobytes that say gigabytes are refused; ordinary ones are read."""

import io
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.fuzz.oracle import memory_limit
from vtr_core.data.concepts.concept_table import ConceptCounts
from vtr_core.data.sources.files import read_table
from vtr_core.errors import InputError
from vtr_core.retrieval.index.items import Item, Items
from vtr_core.storage import locate
from vtr_core.storage.bounded_tables import check_parquet

pytestmark = pytest.mark.linux  # memory_limit
ROWS = 300_000
LONG = "x" * 20_000


def checked(table: pa.Table, most: int = 200_000, **layout: object) -> None:
    """Write a table and check it with 256 MiB; `most`: bytes that its file has at most."""
    sink = io.BytesIO()
    pq.write_table(table, sink, **layout)
    assert sink.tell() <= most
    source = pa.BufferReader(sink.getvalue())
    file = pq.ParquetFile(source)
    with memory_limit(1 << 28):
        check_parquet(source, file.metadata, range(file.num_row_groups))


def repeated(value: object, kind: pa.DataType, rows: int = ROWS, null: bool = False) -> pa.Table:
    return pa.table({"a": pa.array([None if null else value], kind).take(pa.array(np.zeros(rows, np.int64)))})


def list_of_one_value() -> pa.Table:
    return pa.table({"a": pa.ListArray.from_arrays([0, 10**7], pa.array(np.ones(10**7, np.int64)))})


HOSTILE: dict[str, tuple[Callable[[], pa.Table], dict[str, object]]] = {
    "numbers by a dictionary": (lambda: repeated(1, pa.int64(), 2 * 10**7), {"compression": "none"}),
    "texts by a dictionary": (lambda: repeated(LONG, pa.string(), 50_000), {"compression": "none"}),
    "cells that are absent": (
        lambda: repeated(bytes(8000), pa.binary(8000), 10**5, null=True),
        {"compression": "none"},
    ),
    "texts by differences": (
        lambda: pa.table({"a": [LONG] * 50_000}),
        {"compression": "none", "use_dictionary": False, "column_encoding": "DELTA_BYTE_ARRAY"},
    ),
    "a compressed page": (
        lambda: repeated(LONG, pa.string(), 5_000),
        {"compression": "zstd", "use_dictionary": False},
    ),
    "lists of one value": (list_of_one_value, {"compression": "none"}),
    "a list of numbers, compressed": (list_of_one_value, {"compression": "zstd"}),
}
"""Tables, made when they are asked for, as they take seconds and gigabytes, and how they are written."""


@pytest.mark.parametrize("name", HOSTILE)
def test_what_says_more_than_it_holds_is_refused(name: str) -> None:
    table, layout = HOSTILE[name]
    with pytest.raises(pa.ArrowInvalid):
        checked(table(), **layout)


@pytest.mark.parametrize("layout", [{"compression": "none"}, {"compression": "none", "use_dictionary": False}])
def test_a_table_without_rows_passes(layout: dict[str, object]) -> None:
    """Its columns have no pages; the places where they would begin are 0."""
    checked(pa.table({"a": pa.array([], pa.string()), "b": pa.array([], pa.list_(pa.int32()))}), **layout)


def test_ordinary_tables_pass() -> None:
    random = np.random.default_rng(0)
    table = pa.table(
        {
            "id": [f"clip {number}" for number in range(2000)],
            "video": [f"video {number // 20}" for number in range(2000)],
            "value": random.random(2000),
            "cell": pa.array([random.bytes(100) for _ in range(2000)], pa.binary(100)),
            "texts": [["a dog", ""][: number % 3] for number in range(2000)],
            "jpeg": [random.bytes(3000) for _ in range(2000)],
        }
    )
    checked(table, 10**8, compression="none", use_dictionary=["id", "video", "jpeg"])
    checked(table.select(["value"]), 10**8, compression="none", row_group_size=7)
    checked(table, 10**8, compression="none", use_dictionary=False, data_page_version="2.0", data_page_size=1000)


def test_a_table_of_captions_is_read_whatever_its_layout(tmp_path: Path) -> None:
    rows = {"id": [f"v{number}" for number in range(3000)], "caption": ["a dog runs", "é", None] * 1000}
    rows["vector"] = [[1.0, 2.0]] * 3000
    for compression in ("snappy", "zstd", "gzip", "none"):
        pq.write_table(pa.table(rows), tmp_path / "t.parquet", compression=compression, row_group_size=700)
        read = list(read_table(locate(tmp_path / "t.parquet"), ("id", "caption")))
        assert [row["id"] for row in read] == rows["id"]
        assert [row["caption"] for row in read] == rows["caption"]
        assert "vector" not in read[0]


@pytest.mark.parametrize("rows", [10**7, 30_000])
def test_a_table_that_goes_on_and_on_is_refused(rows: int, tmp_path: Path) -> None:
    table = repeated(LONG if rows < 10**6 else "x", pa.string(), rows)
    pq.write_table(table.rename_columns(["id"]), tmp_path / "t.parquet")
    assert (tmp_path / "t.parquet").stat().st_size < 200_000
    with memory_limit(1 << 29), pytest.raises(InputError, match=r"t\.parquet is damaged or not parquet"):
        for _ in read_table(locate(tmp_path / "t.parquet"), ("id",)):
            pass


def arrow(table: pa.Table, **options: object) -> bytes:
    sink = io.BytesIO()
    with pa.ipc.new_file(sink, table.schema, options=pa.ipc.IpcWriteOptions(**options)) as file:
        file.write_table(table)
    return sink.getvalue()


def test_items_of_an_index_are_neither_compressed_nor_by_a_dictionary() -> None:
    items = Items.of([Item(f"v{number}", "v", None, None, "x" * 20_000, {"link": "y"}) for number in range(3000)])
    compressed = arrow(items.table, compression="zstd")
    assert len(compressed) < 200_000
    with memory_limit(1 << 28), pytest.raises(pa.ArrowInvalid, match="compressed"):
        Items.from_buffer(pa.py_buffer(compressed))
    encoded = items.table.set_column(4, "caption", items.table.column("caption").dictionary_encode())
    with memory_limit(1 << 28), pytest.raises(pa.ArrowInvalid, match="its columns are"):
        Items.from_buffer(pa.py_buffer(arrow(encoded)))
    assert Items.from_buffer(pa.py_buffer(items.to_bytes())).table.equals(items.table)


def test_counts_of_concepts_are_compressed_and_read() -> None:
    mentions = [{"dog": 1, "cat": 2}, {"dog": 1}, {}] * 300
    counts = ConceptCounts.from_kept(range(900), mentions, ["dog", "cat"], [3, 5])
    read = ConceptCounts.from_bytes(counts.to_bytes(), 2)
    assert (read.counts != counts.counts).nnz == 0
    assert read.ambiguous.tolist() == [3, 5]
    bomb = ConceptCounts.from_kept([0], [{"dog": 1}], ["dog"], [1] * 1)
    assert ConceptCounts.from_bytes(bomb.to_bytes(), 1).largest.tolist() == [1]
