"""A data set on a store: it says what was replaced or cut off, and is the one that lies on a disk."""

import shutil
from pathlib import Path

import pytest

from tests.builders.toy import Toy, toy_dataset, written
from tests.s3.proxy import Proxy
from tests.s3.store import Store
from vtr_core import storage
from vtr_core.data.ingest.plan import IngestOptions
from vtr_core.data.manifest import Manifest
from vtr_core.data.plan import row_groups
from vtr_core.data.reading.row_groups import RowGroupReader, training_columns
from vtr_core.data.records.schema import require_clips
from vtr_core.data.shards.shard_file import check_files, usable
from vtr_core.errors import DatasetError
from vtr_core.storage import StorageError, locate


@pytest.fixture
def on_store(folder: str) -> Manifest:
    """The toy data set, ingested to the store."""
    written(Toy((3, 1, 4, 2, 5)), folder, IngestOptions(videos_per_shard=2))  # type: ignore[arg-type]
    return Manifest.load(folder)


def _replace(manifest: Manifest, index: int, content: bytes) -> None:
    storage.write_bytes(manifest.location / manifest.shards[index].file, content)


def _content(manifest: Manifest, index: int) -> bytes:
    return storage.read_bytes(manifest.location / manifest.shards[index].file)


def test_it_is_the_data_set_of_a_disk(on_store: Manifest, tmp_path: Path) -> None:
    (on_disk,) = toy_dataset(tmp_path)
    assert on_store.fingerprint == on_disk.fingerprint
    columns = training_columns(on_disk.schema)
    for place in row_groups(on_disk):
        expected = RowGroupReader(on_disk, columns).read(place)
        found = RowGroupReader(on_store, columns).read(place)
        assert expected.keys() == found.keys()
        assert all((expected[name] == found[name]).all() for name in expected)


def test_etags_are_those_of_the_objects(on_store: Manifest) -> None:
    found = storage.listing(on_store.location)
    assert found is not None
    for shard in on_store.shards:
        assert shard.etag == found[shard.file].etag == storage.etag(on_store.location / shard.file)


def test_all_files_are_checked_with_one_listing(on_store: Manifest, proxy: Proxy, store: Store) -> None:
    manifest = Manifest.load(on_store.uri)
    proxy.requests.clear()
    check_files(manifest)
    assert [request.method for request in proxy.requests] == ["GET"]


def test_a_replaced_shard_of_the_same_size_is_named(on_store: Manifest) -> None:
    check_files(on_store)
    content = bytearray(_content(on_store, 1))
    content[100] ^= 1
    _replace(on_store, 1, bytes(content))
    with pytest.raises(DatasetError, match=rf"{on_store.shards[1].file} was replaced since it was ingested: its ETag"):
        usable(on_store.uri, require_clips)


def test_a_truncated_and_a_missing_shard_are_named(on_store: Manifest) -> None:
    _replace(on_store, 1, _content(on_store, 1)[:-1])
    with pytest.raises(DatasetError, match=rf"{on_store.shards[1].file} has \d+ bytes, its manifest says"):
        usable(on_store.uri, require_clips)
    storage.delete_file(on_store.location / on_store.shards[1].file)
    with pytest.raises(DatasetError, match=f"{on_store.shards[1].file} is missing"):
        usable(on_store.uri, require_clips)


def test_a_copy_is_checked_by_its_sizes(on_store: Manifest, tmp_path: Path) -> None:
    """Its ETags may differ: they depend on the parts that were sent, and on encryption."""
    copy = on_store.uri + "-copy"
    for child in storage.children(on_store.location):
        content = storage.read_bytes(child)
        storage.write_bytes(locate(copy) / child.name, content)
        storage.write_bytes(locate(str(tmp_path / "copy")) / child.name, content)
    moved = usable(copy, require_clips)
    assert moved.fingerprint == on_store.fingerprint
    assert usable(str(tmp_path / "copy"), require_clips).fingerprint == on_store.fingerprint
    content = bytearray(_content(moved, 1))
    content[100] ^= 1
    _replace(moved, 1, bytes(content))
    check_files(moved)
    _replace(moved, 1, bytes(content[:-1]))
    with pytest.raises(DatasetError, match="bytes, its manifest says"):
        check_files(moved)


def test_a_data_set_of_a_disk_can_be_copied_to_a_store(folder: str, tmp_path: Path) -> None:
    (on_disk,) = toy_dataset(tmp_path)
    assert all(shard.etag is None for shard in on_disk.shards)
    assert "etag" not in (tmp_path / "manifest.json").read_text()
    for file in tmp_path.iterdir():
        storage.write_bytes(locate(folder) / file.name, file.read_bytes())
    shutil.rmtree(tmp_path)
    assert usable(folder, require_clips).fingerprint == on_disk.fingerprint


@pytest.mark.long
def test_an_ingest_goes_on_where_the_store_was_away(folder: str, proxy: Proxy) -> None:
    from tests.s3.proxy import Answer, Reset

    proxy.faults = [Answer(503, "SlowDown"), Reset(), Answer(500, "InternalError")] * 6
    (manifest,) = written(Toy((3, 1, 4)), folder, IngestOptions(videos_per_shard=2))  # type: ignore[arg-type]
    assert not proxy.faults
    check_files(Manifest.load(manifest.uri))


def test_a_store_that_is_away_is_no_damaged_shard(
    on_store: Manifest, proxy: Proxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("VTR_S3_PATIENCE_S", "0")
    manifest = Manifest.load(on_store.uri)
    reader = RowGroupReader(manifest, training_columns(manifest.schema))
    proxy.refuse()
    with pytest.raises(StorageError, match="cannot be reached"):
        reader.read(row_groups(manifest)[0])
    proxy.accept()
