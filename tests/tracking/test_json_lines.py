"""Lines are whole, in order and once, whatever a crash or a full disk left behind."""

import errno
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from vtr_core.storage import locate
from vtr_core.tracking.run_log import JsonLines, read_lines


def lines(path: Path) -> JsonLines:
    return JsonLines(locate(str(path)))


def test_lines_are_appended_to_what_is_there(tmp_path: Path) -> None:
    path = tmp_path / "new" / "a.jsonl"
    lines(path).append({"a": 1})
    lines(path).append({"a": "line\nbreak"})
    assert lines(path).read() == read_lines(locate(str(path))) == [{"a": 1}, {"a": "line\nbreak"}]


@pytest.mark.parametrize("torn", ['{"a": 3', '{"a": 3}', "[1]\n", "\0\0\n", '{"a": 3}{"a"\n'])
def test_what_a_crash_left_is_cut_off(tmp_path: Path, torn: str) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text('{"a": 1}\n{"a": 2}\n' + torn)
    assert read_lines(locate(str(path))) == [{"a": 1}, {"a": 2}]
    lines(path).append({"a": 4})
    assert path.read_text() == '{"a": 1}\n{"a": 2}\n{"a": 4}\n'


def test_a_bad_line_in_the_middle_costs_itself(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text('{"a": 1}\n{"a"\n{"a": 3}\n')
    lines(path)
    assert path.read_text() == '{"a": 1}\n{"a": 3}\n'


def test_dropped_lines_are_given_back(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text('{"a": 1}\n{"a": 2}\n{"a": 3}\n')
    log = lines(path)
    assert log.keep(lambda line: line["a"] != 2) == [{"a": 2}]
    log.append({"a": 4})
    assert [line["a"] for line in lines(path).read()] == [1, 3, 4]


@contextmanager
def full_disk(monkeypatch: pytest.MonkeyPatch, room: int) -> Iterator[None]:
    """Appending writes `room` bytes and then fails."""
    opened = Path.open

    def short(self: Path, mode: str = "r", *arguments: int) -> object:
        file = opened(self, mode, *arguments)
        if mode == "ab":
            file.write(b"x" * room)
            file.flush()
            file.close()
            raise OSError(errno.ENOSPC, "No space left on device")
        return file

    with monkeypatch.context() as patch:
        patch.setattr(Path, "open", short)
        yield


def test_what_a_full_disk_refuses_is_written_later(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.jsonl"
    log = lines(path)
    log.append({"a": 1})
    with full_disk(monkeypatch, room=3):
        log.append({"a": 2})
        log.append({"a": 3})
        with pytest.raises(OSError, match="No space left"):
            log.publish()
    assert path.read_text() == '{"a": 1}\n'
    assert [line["a"] for line in log.read()] == [1, 2, 3]
    log.append({"a": 4})
    assert [line["a"] for line in lines(path).read()] == [1, 2, 3, 4]
