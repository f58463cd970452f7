"""A data set on a store: it says what was replaced or cut off, and is the one that lies on a disk."""

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
from vtr_core.data.shards.shard_file import DamagedShard, check_files, usable
from vtr_core.storage import StorageError


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
        stored = RowGroupReader(on_store, columns).read(place)
        assert expected.keys() == stored.keys()
        assert all((expected[name] == stored[name]).all() for name in expected)


def test_all_files_are_checked_with_one_listing(on_store: Manifest, proxy: Proxy, store: Store) -> None:
    manifest = Manifest.load(on_store.uri)
    proxy.requests.clear()
    check_files(manifest)
    assert [request.method for request in proxy.requests] == ["GET"]


def test_a_replaced_shard_of_the_same_size_is_found_when_it_is_read(on_store: Manifest) -> None:
    content = bytearray(_content(on_store, 1))
    content[100] ^= 1
    _replace(on_store, 1, bytes(content))
    manifest = usable(on_store.uri, require_clips)
    with pytest.raises(DamagedShard, match=rf"{on_store.shards[1].file} .* cannot be read"):
        for place in row_groups(manifest):
            RowGroupReader(manifest, manifest.schema.arrow().names).read_arrow(place)


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
