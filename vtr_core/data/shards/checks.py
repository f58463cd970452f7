"""Checks of a data set: its kind, and its files against the manifest."""

from collections.abc import Callable

import pyarrow.fs as pafs

from vtr_core import storage
from vtr_core.config.data_sets import joined_uris
from vtr_core.config.shards import OnBadShard
from vtr_core.data.manifest import Manifest, StoredAt
from vtr_core.data.records.schema import Schema
from vtr_core.data.shard_record import Shard
from vtr_core.errors import DatasetError
from vtr_core.storage import Location, Stored


def usable(uri: str, require: Callable[[Schema, str], object], on_bad_shard: OnBadShard = "fail") -> Manifest:
    """The manifest of a data set with all its files, whose schema passes `require`, for instance `require_clips`.

    With "skip" files are not checked here, only when they are read. Raises StorageError where the store cannot be read,
    DatasetError where a file is missing or was replaced, SchemaMismatch from `require`.
    """
    for part in joined_uris(uri):
        storage.check_readable(storage.locate(part))
    manifest = Manifest.load(uri)
    require(manifest.schema, manifest.uri)
    if on_bad_shard == "fail":
        check_files(manifest)
    return manifest


def check_files(manifest: Manifest) -> None:
    """DatasetError for the first shard that is missing, has another size, or was replaced; contents are not read.

    On an S3-compatible store one listing yields all sizes and ETags. A shard counts as replaced where its ETag differs
    from that of the ingest. ETags are compared only at the URI and endpoint that the data set was written to, since
    they depend on multipart boundaries and encryption; copies elsewhere are checked by size.
    """
    parts = joined_uris(manifest.uri)
    if len(parts) > 1:
        for part in parts:
            check_files(Manifest.load(part))
        return
    folder = manifest.location
    objects = storage.listing(folder)
    for shard in manifest.shards:
        place = folder / shard.file
        if objects is None:
            _check_size(place, shard, _local_size(place))
        else:
            found = objects.get(shard.file)
            _check_size(place, shard, None if found is None else found.bytes)
            assert found is not None
            _check_etag(manifest, place, shard, found)


def _local_size(place: Location) -> int | None:
    info = place.filesystem.get_file_info(place.path)
    return info.size if info.type == pafs.FileType.File else None


def _check_size(place: Location, shard: Shard, size: int | None) -> None:
    if size is None:
        raise DatasetError(f"{place} is missing though the manifest lists it; restore or rebuild it")
    if size != shard.bytes:
        raise DatasetError(
            f"{place} has {size} bytes, its manifest says {shard.bytes} (sha256 {shard.sha256[:12]}…); "
            "restore or rebuild it"
        )


def _check_etag(manifest: Manifest, place: Location, shard: Shard, found: Stored) -> None:
    here = StoredAt(manifest.uri, storage.store_name(place) or "")
    if shard.etag is not None and manifest.stored_at == here and found.etag != shard.etag:
        raise DatasetError(
            f"{place} was replaced since it was ingested: its ETag is {found.etag}, its manifest says {shard.etag}; "
            "restore or rebuild it"
        )
