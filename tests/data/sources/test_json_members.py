"""Members of large JSON objects are found where Python's parser finds them, however the file is cut into blocks."""

import json
import random
from pathlib import Path

import pytest
from pyarrow.fs import LocalFileSystem

from vtr_core.data.sources import published_captions as json_members
from vtr_core.data.sources.published_captions import members, read_values
from vtr_core.errors import VtrError
from vtr_core.storage import locate

CHARACTERS = 'ab{}[]",:\\\\/\n é♪\u0000'
SPACES = ("", " ", "\n\t")


def text(draw: random.Random) -> str:
    return "".join(draw.choices(CHARACTERS, k=draw.randrange(8)))


def value(draw: random.Random, depth: int) -> object:
    match draw.randrange(5 if depth else 2):
        case 0:
            return text(draw)
        case 1:
            return draw.choice([1.5, None, True])
        case 2:
            return [value(draw, depth - 1) for _ in range(draw.randrange(3))]
        case _:
            return {text(draw): value(draw, depth - 1) for _ in range(draw.randrange(3))}


@pytest.mark.parametrize("block", [1, 2, 3, 7, 64, 2**20])
def test_they_are_those_of_the_parser(block: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(json_members, "BLOCK", block)
    draw, file = random.Random(block), tmp_path / "x.json"
    for attempt in range(60):
        content = {text(draw): {text(draw): value(draw, 3) for _ in range(draw.randrange(3))} for _ in range(5)}
        written = json.dumps(
            content, ensure_ascii=draw.random() < 0.5, separators=(draw.choice(SPACES) + ",", draw.choice(SPACES) + ":")
        )
        mark = "\ufeff" if attempt % 2 else ""
        file.write_text(mark + draw.choice(SPACES) + written + draw.choice(SPACES), "utf-8")
        entries = list(members(locate(file)))
        assert [member.name for member in entries] == list(content)
        assert list(read_values(locate(file), entries)) == list(content.values())
        assert list(read_values(locate(file), entries[::-2])) == list(content.values())[::-2]


INVALID, OTHER_FORM = "is not valid JSON", "must be an object of objects"
BAD = {
    "empty": ("", INVALID),
    "cut in a value": ('{"a": {"b": 1', INVALID),
    "cut in a string": ('{"a": {"b": "', INVALID),
    "cut after a value": ('{"a": {"b": 1}', INVALID),
    "a list": ('[{"a": {}}]', OTHER_FORM),
    "a number": ("7", OTHER_FORM),
    "a member that is a list": ('{"a": {}, "b": [{"c": {}}]}', f"b: it {OTHER_FORM}"),
    "no name": ('{{"a": {}}}', INVALID),
    "no comma": ('{"a": {} "b": {}}', OTHER_FORM),
    "a comma too many": ('{"a": {},}', INVALID),
    "more than an object": ('{"a": {}} {"b": {}}', INVALID),
    "a brace too many": ('{"a": {}}}', INVALID),
    "a value that is none": ('{"a": {"b"}}', INVALID),
}


@pytest.mark.parametrize("block", [1, 2**20])
@pytest.mark.parametrize(("content", "message"), BAD.values(), ids=BAD)
def test_what_is_wrong_is_named(
    content: str, message: str, block: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(json_members, "BLOCK", block)
    place = locate(tmp_path / "x.json")
    Path(place.path).write_text(content)
    with pytest.raises(VtrError, match=message):
        list(read_values(place, list(members(place))))


def test_an_object_may_be_empty(tmp_path: Path) -> None:
    (tmp_path / "x.json").write_text(" {\n} ")
    assert list(members(locate(tmp_path / "x.json"))) == []


def test_a_file_of_another_kind_is_not_kept_in_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(json_members, "BLOCK", 2**12)
    (tmp_path / "x.json").write_text("[" + "1," * 2**20 + "1]")
    opened = []
    place = locate(tmp_path / "x.json")
    with pytest.raises(VtrError, match="must be an object of objects"):
        for member in members(place):
            opened.append(member)
    assert not opened
    assert isinstance(place.filesystem, LocalFileSystem)
