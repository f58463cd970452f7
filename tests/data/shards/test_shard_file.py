"""A shard gives what was written or says that it is damaged, whatever byte of it was changed."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

from tests.builders.toy import toy_dataset, toy_videos
from vtr_core.data.manifest import Manifest
from vtr_core.data.plan import RowGroup, row_groups
from vtr_core.data.reading.row_groups import RowGroupReader, training_columns
from vtr_core.data.shards.shard_file import DamagedShard

PLACE = RowGroup(0, 0)


@pytest.fixture
def manifest(tmp_path: Path) -> Manifest:
    return toy_dataset(tmp_path / "d", clips_of=[3, 1, 4], videos_per_shard=3)[0]


def shard_path(manifest: Manifest, shard: int = 0) -> Path:
    return Path(manifest.location.path) / manifest.shards[shard].file


def test_arrays_are_what_was_written(manifest: Manifest) -> None:
    columns = [*training_columns(manifest.schema, extra_captions=1), "caption", "clip_id"]
    reader = RowGroupReader(manifest, columns)
    for place in row_groups(manifest):
        arrays, stored = reader.read(place), pq.read_table(shard_path(manifest, place.shard))
        first = sum(sum(counts) for counts in manifest.shards[place.shard].row_groups[: place.index])
        for name in columns:
            values = stored[name].to_pylist()[first : first + len(arrays[name])]
            if arrays[name].ndim == 2:
                assert arrays[name].tobytes() == b"".join(values)
            else:
                assert arrays[name].tolist() == values


def read_or_complain(reader: RowGroupReader) -> dict[str, list[object]] | str:
    try:
        return {name: array.tolist() for name, array in reader.read(PLACE).items()}
    except DamagedShard as error:
        return str(error)


def test_no_flipped_byte_goes_unnoticed(manifest: Manifest) -> None:
    """Every byte of the file in turn: either the error that names the shard with its hash, or the same values."""
    path, names = shard_path(manifest), [*training_columns(manifest.schema), "caption", "clip_id", "start"]
    content = path.read_bytes()
    reader = RowGroupReader(manifest, names)
    expected = read_or_complain(reader)
    noticed = 0
    for position in range(0, len(content), 3):
        damaged = bytearray(content)
        damaged[position] ^= 0x10
        path.write_bytes(damaged)
        found = read_or_complain(reader)
        if isinstance(found, str):
            noticed += 1
            assert f"{path} (sha256 {manifest.shards[0].sha256[:12]}…" in found
        else:
            assert found == expected
    assert noticed > len(content) / 3 / 2  # the columns that are not read are most of the rest


def test_a_column_that_there_is_not_is_named(manifest: Manifest) -> None:
    with pytest.raises(DamagedShard, match="it has no column vidoe"):
        RowGroupReader(manifest, ["vidoe"]).read(PLACE)


@pytest.mark.parametrize("size", [0, 3, 8, 100, -1])
def test_a_truncated_or_longer_file_is_damaged(manifest: Manifest, size: int) -> None:
    path = shard_path(manifest)
    content = path.read_bytes()
    for changed in (content[:size], content + b"x"):
        path.write_bytes(changed)
        with pytest.raises(DamagedShard, match=rf"has {len(changed)} bytes, its manifest says {len(content)}"):
            RowGroupReader(manifest, ["video"]).read(PLACE)


def test_a_footer_that_is_not_the_manifests_is_refused(manifest: Manifest) -> None:
    other = replace(manifest, shards=(replace(manifest.shards[0], footer_sha256="0" * 64),))
    with pytest.raises(DamagedShard, match="footer does not match its checksum"):
        RowGroupReader(other, ["video"]).read(PLACE)


def test_whole_videos_are_verified_too(tmp_path: Path) -> None:
    manifest = toy_videos(tmp_path / "v")
    path = shard_path(manifest)
    reader = RowGroupReader(manifest, ["video"])
    values = b"".join(reader.read_arrow(PLACE)["video"].to_pylist())
    content = path.read_bytes()
    damaged = bytearray(content)
    damaged[content.index(values[:16])] ^= 1
    path.write_bytes(damaged)
    with pytest.raises(DamagedShard, match="could not verify page integrity, CRC checksum verification failed"):
        reader.read_arrow(PLACE)


def test_a_video_of_many_clips_is_one_page(tmp_path: Path) -> None:
    """Beyond the rows that a Parquet writer would put into a page of its own accord."""
    manifest = toy_dataset(tmp_path / "d", clips_of=[21_000])[0]
    found = RowGroupReader(manifest, ["video"]).read(PLACE)["video"]
    np.testing.assert_array_equal(found[:, 1], np.arange(21_000).astype(np.float16))
