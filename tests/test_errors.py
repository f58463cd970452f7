"""Messages quote what users gave, and stay one printable line; JSON by others is a value or a ValueError."""

import json
import pickle
import shlex

import pytest

from vtr_core.errors import DatasetError, command_line, nearest, one_line
from vtr_core.json_text import parse_json


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("plain  text", "plain  text"),
        ("two\nlines\r\n\nand more", "two lines and more"),
        ("bell\a and \x1b[31mred", r"bell\x07 and \x1b[31mred"),
        ("half \ud800", r"half \ud800"),
        ("crème \U0001f600", "crème \U0001f600"),
    ],
)
def test_one_line(text: str, expected: str) -> None:
    assert one_line(text) == expected


def test_a_long_message_keeps_its_beginning_and_its_end() -> None:
    found = one_line("/data/file.csv: " + "x" * 5000 + "; give another")
    assert len(found) <= 1003
    assert found.startswith("/data/file.csv: ")
    assert found.endswith("; give another")


def test_errors_travel_between_processes() -> None:
    error = DatasetError("a\nb")
    assert str(error) == str(pickle.loads(pickle.dumps(error))) == "a b"


def test_the_nearest_known_word_is_suggested() -> None:
    assert nearest("trian", iter(["train", "ingest"]), "give one") == "did you mean train?"
    assert nearest("xyz", ["train", "ingest"], "give one") == "give one"


@pytest.mark.parametrize("name", ["runs/a", "runs/a b", "it's $HOME; rm *", "s3://b/x?region=e&scheme=http", "josé"])
def test_a_command_to_type_is_read_by_the_shell_as_it_was_meant(name: str) -> None:
    line = command_line("train", "--resume", name, "--seed", 3)
    assert shlex.split(line) == ["vtr", "train", "--resume", name, "--seed", "3"]


GOOD = [None, True, 1.5, "é \U0001f600", [1, {"a": []}], {"a": "b"}]


@pytest.mark.parametrize("value", GOOD, ids=str)
def test_a_value_comes_back(value: object) -> None:
    for text in (json.dumps(value), json.dumps(value, ensure_ascii=False)):
        assert parse_json(text) == value
        assert parse_json(text.encode()) == value
        assert parse_json(b"\xef\xbb\xbf" + text.encode()) == value


BAD = {
    "nothing": b"",
    "half": b'{"a": ',
    "no UTF-8": b'"\xff"',
    "UTF-16": '{"a": 1}'.encode("utf-16"),
    "deep list": b"[" * 100_000,
    "deep object": b'{"a":' * 100_000,
    "half a pair": b'{"a": "\\ud83d"}',
    "half a pair as key": b'{"\\uDE00": 1}',
    "endless number": b"9" * 5000,
}


@pytest.mark.parametrize("content", BAD.values(), ids=BAD)
def test_all_else_is_a_value_error(content: bytes) -> None:
    with pytest.raises(ValueError, match=r"."):
        parse_json(content)


def test_a_whole_pair_is_a_character() -> None:
    assert parse_json('"\\ud83d\\ude00"') == "\U0001f600"
