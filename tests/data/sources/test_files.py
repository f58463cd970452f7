"""Tables and subtitles."""

import datetime
import math

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from vtr_core.data.sources.files import IDS, LABELS, BadLine, Row, Subtitle, parse_srt, read_table
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


def test_short_rows_are_filled_and_long_ones_named(tmp_path):
    (tmp_path / "t.csv").write_text("id,caption\n1\n2,b,,\n")
    assert rows(tmp_path / "t.csv") == [{"id": "1", "caption": ""}, {"id": "2", "caption": "b"}]
    (tmp_path / "t.csv").write_text("id,caption\n1,a\n2,a dog, running\n")
    with pytest.raises(InputError, match=r"t\.csv, line 3: it has 3 cells, the header 2; quote each cell"):
        rows(tmp_path / "t.csv")


@pytest.mark.parametrize("name", ["t.csv", "t.jsonl", "t.parquet"])
def test_two_columns_of_one_name_are_refused(tmp_path, name):
    (tmp_path / "t.csv").write_text("id,caption,caption\n1,a,b\n")
    (tmp_path / "t.jsonl").write_text('{"id": "1", "caption": "a", "caption": "b"}\n')
    columns = [pa.array(["1"]), pa.array(["a"]), pa.array(["b"])]
    pq.write_table(pa.Table.from_arrays(columns, ["id", "caption", "caption"]), tmp_path / "t.parquet")
    with pytest.raises(InputError, match=r"several columns caption|the name 'caption' twice"):
        rows(tmp_path / name)


def test_a_list_of_captions_is_a_row_for_each(tmp_path):
    (tmp_path / "t.jsonl").write_text('{"id": "1", "caption": ["a", "b"]}\n{"id": "2", "caption": []}\n')
    expected = [{"id": "1", "caption": "a"}, {"id": "1", "caption": "b"}, {"id": "2", "caption": None}]
    assert rows(tmp_path / "t.jsonl") == expected
    assert [row.where.rpartition("/")[2] for row in rows(tmp_path / "t.jsonl")] == [
        "t.jsonl, row 1",
        "t.jsonl, row 1",
        "t.jsonl, row 2",
    ]
    for kind in (pa.list_(pa.string()), pa.large_list(pa.large_string())):
        table = {"id": ["1", "2", "3"], "caption": pa.array([["a", "b"], [], None], kind)}
        pq.write_table(pa.table(table), tmp_path / "t.parquet")
        assert rows(tmp_path / "t.parquet") == [*expected, {"id": "3", "caption": None}]


def test_lists_of_captions_of_many_row_groups_and_layouts(tmp_path):
    lists = [[f"{number} a", None, "x" * 50][: number % 4] for number in range(3000)]
    for layout in ({"compression": "zstd"}, {"compression": "none", "use_dictionary": False}):
        pq.write_table(pa.table({"id": range(3000), "caption": lists}), tmp_path / "t.parquet", None, **layout)
        read = [(row["id"], row["caption"]) for row in rows(tmp_path / "t.parquet")]
        assert read == [(number, text) for number, own in enumerate(lists) for text in own or [None]]


@pytest.mark.parametrize("value", [5, 1.5, True, {"en": "a"}, b"a", datetime.date(2020, 1, 1), ["a"]])
def test_what_is_no_text_is_named_by_row_and_column(value):
    with pytest.raises(InputError, match=rf"t, row 3, column caption: .*is no text but {type(value).__name__}; give"):
        Row({"caption": value}, "t, row 3").text("caption")


def test_ids_may_be_whole_numbers():
    row = Row({"id": 7, "yes": True, "share": 7.5, "empty": math.nan}, "t, row 1")
    assert (row.text("id", *IDS), row.text("empty"), row.text("none")) == ("7", None, None)
    assert (row.text("share", *LABELS), row.text("yes", *LABELS)) == ("7.5", "True")
    for column in ("yes", "share"):
        with pytest.raises(InputError, match=f"column {column}"):
            row.text(column, *IDS)
    with pytest.raises(InputError, match="column empty: it is empty"):
        row.required_id("empty")


def test_the_type_of_a_column_that_is_not_read_is_named(tmp_path):
    pq.write_table(pa.table({"id": ["1"], "caption": [{"en": "a"}]}), tmp_path / "t.parquet")
    with pytest.raises(InputError, match=r"t\.parquet, column caption: struct<en: string> is not read; give texts"):
        rows(tmp_path / "t.parquet")


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
        ("t.csv", b'id,caption\n1,"a\n2,b\n3,c\n', r"t\.csv, line 2: .*has a quote without its pair .*end of data"),
        ("t.csv", b'id,caption\n1,"a\n2,b\n3,"c"\n', r"t\.csv, line 2: .*has a quote without its pair"),
        ("t.csv", b'id,caption\n1,a\n\n"2\n",b\n3,"a"b"\n4,c\n', r"t\.csv, line 6: .*a quote without its pair"),
        ("t.tsv", b'id\tcaption\n1\t"No", she said\n2\tb\n', r"t\.tsv, line 2: .*double the quotes in them"),
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


PLAIN = "1\n00:00:01,500 --> 00:00:04,000\ncrack_egg\n\n2\n01:02:03,250 --> 01:02:04,000\nadd salt\nand pepper\n"


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_blocks_in_order(end: str) -> None:
    expected = [Subtitle(2, 1.5, 4.0, "crack_egg"), Subtitle(6, 3723.25, 3724.0, "add salt and pepper")]
    assert list(parse_srt(PLAIN.replace("\n", end))) == expected


@pytest.mark.parametrize(
    ("block", "expected"),
    [
        ("00:00:01,5 --> 00:00:02\nno number", Subtitle(1, 1.5, 2.0, "no number")),
        ("7\n00:01.250-->00:02.000\npoints", Subtitle(2, 1.25, 2.0, "points")),
        ("7\n00:00:02,000 --> 00:00:02,000\nno length", Subtitle(2, 2.0, 2.0, "no length")),
        ("3", BadLine(1, "the block '3' is empty")),
        ("3\n00:00:01,000 --> 00:00:02,000", BadLine(2, "there is no text after '00:00:01,000 --> 00:00:02,000'")),
    ],
)
def test_odd_blocks(block: str, expected: Subtitle | BadLine) -> None:
    assert list(parse_srt(block)) == [expected]
    assert list(parse_srt(f"\n\n{block}\n\n\n")) != []


@pytest.mark.parametrize(
    "times", ["hello", "00:00:01,000", "00:00:01,000 --> later", "1 --> 2 --> 3", "-1:00 --> 0:01"]
)
def test_a_time_line_that_is_none_is_shown(times: str) -> None:
    (cue,) = parse_srt(f"1\n{times}\ntext")
    assert isinstance(cue, BadLine)
    assert (cue.line, f"{times!r} is not a time line" in cue.fault) == (2, True)


def test_nothing_holds_nothing() -> None:
    assert list(parse_srt("")) == list(parse_srt("\n \n\t\n")) == []
