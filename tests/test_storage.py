"""Files are published whole or not at all."""

from pathlib import Path

import pytest

from vtr_core import storage
from vtr_core.storage import StorageError, locate


def test_a_failed_write_leaves_no_file(tmp_path: Path) -> None:
    place = locate(str(tmp_path / "deep" / "file"))
    with pytest.raises(RuntimeError), storage.open_for_writing(place) as sink:
        sink.write(b"half")
        raise RuntimeError
    assert not any((tmp_path / "deep").iterdir())


def test_a_failed_write_keeps_the_old_file(tmp_path: Path) -> None:
    place = locate(str(tmp_path / "file"))
    storage.write_bytes(place, b"old")
    with pytest.raises(RuntimeError), storage.open_for_writing(place) as sink:
        sink.write(b"new")
        raise RuntimeError
    assert storage.read_bytes(place) == b"old"


def test_an_unknown_scheme_is_refused() -> None:
    with pytest.raises(StorageError, match="'gopher'"):
        locate("gopher://host/x")


def test_locations_join_and_name_themselves(tmp_path: Path) -> None:
    place = locate(str(tmp_path)) / "a" / "b.json"
    assert place.name == "b.json"
    assert place.uri == f"{tmp_path}/a/b.json"
    assert place.is_local
    assert locate(f"file://{tmp_path}").path == str(tmp_path)


def test_children_of_nothing_are_none(tmp_path: Path) -> None:
    assert list(storage.children(locate(str(tmp_path / "none")))) == []
