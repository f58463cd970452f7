"""Files are published whole or not at all; names are joined to URIs as locations join them."""

import errno
import os
from pathlib import Path

import pytest

from pipelines.tables import runs
from vtr_core import storage
from vtr_core.storage import StorageError, locate
from vtr_core.storage.location import below


@pytest.mark.parametrize("old", [b"old", None])
def test_a_failed_write_keeps_the_old_file_or_none(old: bytes | None, tmp_path: Path) -> None:
    place = locate(str(tmp_path / "deep" / "file"))
    if old is not None:
        storage.write_bytes(place, old)
    with pytest.raises(RuntimeError), storage.open_for_writing(place) as sink:
        sink.write(b"new")
        raise RuntimeError
    assert [file.read_bytes() for file in (tmp_path / "deep").iterdir()] == ([] if old is None else [old])


@pytest.mark.parametrize("name", ["folder", "file/below", "file/deep/below"])
def test_a_file_that_cannot_be_is_named_and_leaves_nothing(name: str, tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").touch()
    place = locate(str(tmp_path / name))
    for write in (storage.check_file_writable, lambda one: storage.write_bytes(one, b"")):
        with pytest.raises(StorageError, match=r"(folder|file|deep|below) cannot be written.*; name a"):
            write(place)
    assert sorted(tmp_path.rglob("*")) == [tmp_path / "file", tmp_path / "folder"]


def test_two_writers_of_a_file_do_not_mix(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As on two nodes of a cluster, whose processes have the same number."""
    monkeypatch.setattr("os.getpid", lambda: 7)
    place = locate(str(tmp_path / "file"))
    with storage.open_for_writing(place) as first, storage.open_for_writing(place) as second:
        first.write(b"one")
        second.write(b"another")
    assert storage.read_bytes(place) == b"one"


def test_a_folder_that_is_cleared_meanwhile_is_told(tmp_path: Path) -> None:
    """By a command that ended, of two with the same output."""
    place = locate(str(tmp_path / "file"))
    with (
        pytest.raises(StorageError, match=r"file was not written: its folder was cleared meanwhile.*run one at a time"),
        storage.open_for_writing(place),
    ):
        storage.delete_unpublished(locate(str(tmp_path)))


def test_a_full_disk_is_named(tmp_path: Path) -> None:
    full, place = pytest.raises(StorageError, match=r"x cannot be written \(No space left"), tmp_path / "x"
    with full, storage.open_for_writing(locate(str(place))):
        raise OSError(errno.ENOSPC, "No space left on device")
    assert not list(tmp_path.iterdir())


def test_a_file_that_can_be_is_not_made(tmp_path: Path) -> None:
    storage.check_file_writable(locate(str(tmp_path / "new" / "file")))
    assert not list(tmp_path.iterdir())


def test_an_unknown_scheme_is_refused() -> None:
    with pytest.raises(StorageError, match="'gopher'"):
        locate("gopher://host/x")


def test_locations_join_and_name_themselves(tmp_path: Path) -> None:
    place = locate(str(tmp_path)) / "a" / "b.json"
    assert place.name == "b.json"
    assert place.uri == f"{tmp_path}/a/b.json"
    assert place.is_local
    assert locate(f"file://{tmp_path}").path == str(tmp_path)


@pytest.mark.linux
def test_a_name_that_is_no_text_is_left_out_and_named(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    for name in (b"a", b"caf\xe9"):
        Path(os.fsdecode(os.path.join(os.fsencode(tmp_path), name))).touch()
    assert [child.name for child in storage.children(locate(str(tmp_path)))] == ["a"]
    assert "caf\\xe9: the name is not UTF-8" in caplog.text
    with pytest.raises(StorageError, match=r"caf\\xe9' cannot be the name of a file"):
        locate(os.fsdecode(b"caf\xe9"))
    with pytest.raises(StorageError, match=r"a\\ud800' cannot be the name of a file"):
        locate("a\ud800")


def test_what_cannot_be_looked_up_is_told_in_a_line(tmp_path: Path) -> None:
    with pytest.raises(StorageError, match=r"x cannot be looked up \(File name too long\); correct the name"):
        storage.exists(locate(str(tmp_path / ("x" * 300))))


def test_a_file_of_another_machine_is_refused() -> None:
    with pytest.raises(StorageError, match="is a file of the machine host"):
        locate("file://host/share")
    assert locate("file://localhost/a%20b").path == locate("file:/a%20b").path == "/a b"


@pytest.mark.parametrize("name", ["a b", "a#b", "50%", "a%20b", "what?", "ü"])
def test_names_in_a_bucket_are_quoted_once_and_read_once(name: str) -> None:
    place = locate("s3://bucket/films?region=eu-west-1") / name
    assert place.path == f"bucket/films/{name}"
    assert locate(place.uri).path == place.path
    assert locate(place.uri).s3 == place.s3


STORE = "?endpoint_override=http://127.0.0.1:9000&region=x"


@pytest.mark.parametrize("folder", ["/data/a", "/data/a/", "s3://bucket/a", f"s3://bucket/a{STORE}"])
def test_names_come_before_settings(folder: str) -> None:
    assert locate(below(folder, "b/c.json")).path == f"{locate(folder).path.rstrip('/')}/b/c.json"
    assert below(folder, "b").endswith(STORE if STORE in folder else "a/b")


def test_rows_of_tables_on_a_store_with_settings() -> None:
    folder, test = runs.run_folder(f"s3://bucket/tables{STORE}", "", 3), runs.TestSet("test", "data/test", "retrieval")
    for place, name in ((folder, ""), (runs.settings_file(folder), ".settings.json")):
        assert locate(place).path == f"bucket/tables/base/seed-3{name}"
    assert locate(runs.figures_file(folder, test)).path == "bucket/tables/base/seed-3/figures-test.json"
