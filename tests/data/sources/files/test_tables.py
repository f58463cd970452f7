import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from vtr_core.data.sources.files import read_table
from vtr_core.errors import InputError
from vtr_core.storage import locate


def rows(path, *required):
    return list(read_table(locate(path), *(required or (("id", "caption"),))))


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("t.csv", 'id,caption\r\n1,"a, ""b"""\r\n2,ü\r\n'),
        ("t.csv", '\ufeffid,caption\n1,"a, ""b"""\n2,ü'),
        ("t.TSV", 'id\tcaption\n1\t"a, ""b"""\n2\tü\n'),
        ("t.jsonl", '{"id": "1", "caption": "a, \\"b\\""}\n\n{"id": "2", "caption": "ü"}\n'),
    ],
)
def test_every_text_format_gives_the_same_rows(tmp_path, name, content):
    path = tmp_path / name
    path.write_text(content, encoding="utf-8")
    assert rows(path) == [{"id": "1", "caption": 'a, "b"'}, {"id": "2", "caption": "ü"}]


def test_quotes_within_a_cell_are_text(tmp_path):
    (tmp_path / "t.tsv").write_text('id\tcaption\n1\tthey say "no\n2\tb\n')
    assert rows(tmp_path / "t.tsv") == [{"id": "1", "caption": 'they say "no'}, {"id": "2", "caption": "b"}]


def test_parquet_keeps_its_types(tmp_path):
    pq.write_table(pa.table({"id": [1, 2], "caption": ["a", None]}), tmp_path / "t.parquet")
    assert rows(tmp_path / "t.parquet") == [{"id": 1, "caption": "a"}, {"id": 2, "caption": None}]


def test_short_rows_are_filled_and_long_ones_cut(tmp_path):
    (tmp_path / "t.csv").write_text("id,caption\n1\n2,b,c,d\n")
    assert rows(tmp_path / "t.csv") == [{"id": "1", "caption": ""}, {"id": "2", "caption": "b"}]


def test_missing_columns_are_named_with_those_found_and_needed(tmp_path):
    (tmp_path / "t.csv").write_text("id,text\n1,a\n")
    (tmp_path / "t.jsonl").write_text('{"id": 1, "text": "a"}\n')
    pq.write_table(pa.table({"id": [1], "text": ["a"]}), tmp_path / "t.parquet")
    for name in ("t.csv", "t.jsonl", "t.parquet"):
        with pytest.raises(
            InputError, match=rf"{name} has the columns id, text; it needs id, caption, or id, start, end"
        ):
            rows(tmp_path / name, ("id", "caption"), ("id", "start", "end"))
        assert rows(tmp_path / name, ("id", "caption"), ("id", "text"))


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("t.csv", b"", "has the columns \\(none\\)"),
        ("t.csv", "id,caption\n1,ü\n".encode("latin-1"), "damaged or not csv in UTF-8"),
        ("t.csv", b'id,caption\n1,"a\n2,b\n3,c\n', r"t\.csv is no csv whose quotes come in pairs .*end of data"),
        ("t.csv", b'id,caption\n1,"a\n2,b\n3,"c"\n', r"t\.csv is no csv whose quotes come in pairs"),
        ("t.tsv", b'id\tcaption\n1\t"No", she said\n2\tb\n', r"t\.tsv is no tsv .*double the quotes in it"),
        ("t.jsonl", b'\n{"id": 1, "caption": \n', 'line 2: \'{"id": 1, "caption":\' is no JSON'),
        ("t.jsonl", '{"id": 1, "caption": "ü"}'.encode("latin-1"), "damaged or not jsonl in UTF-8"),
        ("t.jsonl", b"[1, 2]\n", "line 1: a JSON object is needed"),
        ("t.parquet", b"PAR1 no PAR1", "damaged or not parquet"),
        ("t.xlsx", b"", "formats: .csv, .tsv, .jsonl, .parquet"),
        ("t", b"", "formats: .csv"),
    ],
)
def test_damaged_tables_are_named(tmp_path, name, content, message):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(InputError, match=message):
        rows(tmp_path / name)


def test_a_missing_table_is_named(tmp_path):
    with pytest.raises(InputError, match=r"there is no table .*none\.csv"):
        rows(tmp_path / "none.csv")


def test_a_folder_in_its_place_is_named(tmp_path):
    (tmp_path / "t.csv").mkdir()
    with pytest.raises(InputError, match=r"t\.csv cannot be read"):
        rows(tmp_path / "t.csv")
