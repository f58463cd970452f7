"""Files and folders on a store behave as on a disk; open files are read in few requests."""

import io
import os
import pickle

import pyarrow as pa
import pyarrow.fs as pafs
import pyarrow.parquet as pq
import pytest

from tests.s3.proxy import Answer, Proxy
from tests.s3.store import SECRET, Store, s3_client
from vtr_core import storage
from vtr_core.storage import StorageError, locate
from vtr_core.storage.files import create_object


def test_files_are_written_listed_read_and_deleted(folder: str) -> None:
    place = locate(folder)
    storage.write_bytes(place / "a b" / "ü", b"content")
    storage.write_json(place / "x.json", {"one": 1})
    assert [child.name for child in storage.children(place)] == ["a b", "x.json"]
    assert storage.read_bytes(place / "a b" / "ü") == b"content"
    assert storage.read_json(place / "x.json") == {"one": 1}
    storage.write_bytes(place / "empty", b"")
    assert storage.read_bytes(place / "empty") == b""
    storage.delete_file(place / "empty")
    assert not storage.exists(place / "empty")
    storage.delete_folder(place)
    assert not storage.exists(place / "x.json")
    assert list(storage.children(place)) == []


def test_a_missing_file_is_missing(folder: str) -> None:
    with pytest.raises(FileNotFoundError):
        storage.read_bytes(locate(folder) / "none")


def test_large_files_go_in_parts(folder: str, proxy: Proxy) -> None:
    place, content = locate(folder) / "large", os.urandom(12 * 2**20)
    proxy.requests.clear()
    storage.write_bytes(place, content)
    assert [request.method for request in proxy.requests].count("PUT") == 2
    assert storage.read_bytes(place) == content


def test_after_an_exception_nothing_is_published(folder: str) -> None:
    place = locate(folder) / "file"
    storage.write_bytes(place, b"old")
    with pytest.raises(RuntimeError), storage.open_for_writing(place) as sink:
        sink.write(b"new" * 10_000_000)
        raise RuntimeError
    assert storage.read_bytes(place) == b"old"
    with pytest.raises(RuntimeError), storage.open_for_writing(locate(folder) / "other") as sink:
        raise RuntimeError
    assert not storage.exists(locate(folder) / "other")


def test_of_several_who_create_a_file_one_succeeds(folder: str) -> None:
    place = locate(folder) / "claim"
    assert storage.create_exclusively(place, b"first")
    assert not storage.create_exclusively(place, b"second")
    assert storage.read_bytes(place) == b"first"


def test_a_conflict_is_not_taken_for_somebody_elses_file(folder: str, proxy: Proxy) -> None:
    proxy.faults = [Answer(409, "OperationAborted")] * 2
    assert create_object(locate(folder) / "claim", b"first")
    assert not proxy.faults


def test_folders_are_listed_with_what_lies_in_them(folder: str) -> None:
    place = locate(folder)
    for name in ("a/b/one", "a/two", "three"):
        storage.write_bytes(place / name, b"content")
    for recursive, expected in ((False, {"a", "three"}), (True, {"a", "a/b", "a/b/one", "a/two", "three"})):
        entries = place.filesystem.get_file_info(pafs.FileSelector(place.path, recursive=recursive))
        assert {info.path.removeprefix(f"{place.path}/") for info in entries} == expected
        assert {info.base_name for info in entries if info.is_file} == {
            name.rpartition("/")[2] for name in expected
        } - {
            "a",
            "b",
        }
    with pytest.raises(FileNotFoundError, match="there is no folder s3://"):
        place.filesystem.get_file_info(pafs.FileSelector(f"{place.path}/none"))


def test_marks_of_folders_that_other_programs_leave_are_no_files(folder: str, store: Store) -> None:
    place = locate(folder)
    s3 = s3_client(store.endpoint, store.env)
    for key in ("", "empty/", "full/"):
        s3.put_object(Bucket=store.bucket, Key=f"{place.path.partition('/')[2]}/{key}", Body=b"")
    assert not storage.exists(place)
    storage.write_bytes(place / "full" / "file", b"")
    entries = place.filesystem.get_file_info(pafs.FileSelector(place.path, recursive=True))
    assert [(info.base_name, info.is_file) for info in entries] == [("full", False), ("file", True)]
    assert [child.name for child in storage.children(place / "full")] == ["file"]
    storage.delete_folder(place)
    assert not storage.exists(place)


def test_a_key_that_is_no_path_is_named(folder: str, store: Store) -> None:
    place = locate(folder)
    s3_client(store.endpoint, store.env).put_object(
        Bucket=store.bucket, Key=f"{place.path.partition('/')[2]}/a//b", Body=b""
    )
    storage.check_readable(place)
    with pytest.raises(StorageError, match="has an empty part"):
        storage.exists(place)
    with pytest.raises(StorageError, match="has an empty part"):
        storage.read_bytes(place / "a//b")


def test_locations_travel_to_other_processes(folder: str) -> None:
    place = locate(folder)
    travelled = pickle.loads(pickle.dumps(place))
    assert travelled == place
    storage.check_readable(place)  # now its client has keys
    assert SECRET.encode() not in pickle.dumps(place)
    storage.write_bytes(travelled / "x", b"1")
    assert storage.read_bytes(place / "x") == b"1"


def test_a_row_group_is_one_range(folder: str, proxy: Proxy) -> None:
    place = locate(folder) / "table.parquet"
    table = pa.table({"a": range(40_000), "b": range(40_000)})
    with storage.open_for_writing(place) as sink:
        pq.write_table(table, sink, row_group_size=10_000, compression="none", use_dictionary=False)
    proxy.requests.clear()
    with place.filesystem.open_input_file(place.path) as source:
        file = pq.ParquetFile(source, pre_buffer=True)
        read = file.read_row_group(2, ["a", "b"])
    assert read == table.slice(20_000, 10_000)
    assert [request.method for request in proxy.requests] == ["HEAD", "GET", "GET"]


def test_a_stream_is_read_in_large_pieces(folder: str, proxy: Proxy) -> None:
    place, lines = locate(folder) / "lines.csv", b"one,two\n" * 200_000
    storage.write_bytes(place, lines)
    proxy.requests.clear()
    with place.filesystem.open_input_stream(place.path) as stream:
        assert sum(len(line) for line in io.TextIOWrapper(stream, newline="")) == len(lines)
    assert [request.method for request in proxy.requests] == ["HEAD", "GET"]
