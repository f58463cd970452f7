"""Whether a data set can be used: of the right kind, its files as its manifest says."""

import pyarrow.fs as pafs

from vtr_core.data.manifest import Manifest
from vtr_core.errors import DatasetError


def usable_clips(uri: str) -> Manifest:
    """The manifest of a data set that training or evaluation can start on: `clips`, with all its files.

    Raises DatasetError or SchemaMismatch.
    """
    manifest = Manifest.load(uri).require_clips()
    check_files(manifest)
    return manifest


def check_files(manifest: Manifest) -> None:
    """DatasetError for the first shard that is missing or whose size differs; contents are not read."""
    folder = manifest.location
    places = [folder / shard.file for shard in manifest.shards]
    found = folder.filesystem.get_file_info([place.path for place in places])
    for shard, place, info in zip(manifest.shards, places, found, strict=True):
        if info.type != pafs.FileType.File:
            raise DatasetError(f"{place} is missing though the manifest lists it; restore or rebuild it")
        if info.size != shard.bytes:
            raise DatasetError(
                f"{place} has {info.size} bytes, its manifest says {shard.bytes} (sha256 {shard.sha256[:12]}…); "
                "restore or rebuild it"
            )
