"""JSON by others is a value or a ValueError, whatever it holds."""

import json

import pytest

from vtr_core.json_text import parse_json

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
