"""Shards: sizes of row groups, what is written, and that every damage is found."""

from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.builders.toy import toy_dataset, toy_videos
from vtr_core.data.manifest import Manifest
from vtr_core.data.plan import RowGroup, row_groups
from vtr_core.data.reading.row_groups import RowGroupReader, training_columns
from vtr_core.data.records.schema import require_videos
from vtr_core.data.shards import shard_file as writing
from vtr_core.data.shards.shard_file import DamagedShard, GroupSize, caption_key, check_files, usable, video_groups
from vtr_core.errors import DatasetError

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
        outcome = read_or_complain(reader)
        if isinstance(outcome, str):
            noticed += 1
            assert f"{path} (sha256 {manifest.shards[0].sha256[:12]}…" in outcome
        else:
            assert outcome == expected
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
    columns = RowGroupReader(manifest, ["video"]).read(PLACE)["video"]
    np.testing.assert_array_equal(columns[:, 1], np.arange(21_000).astype(np.float16))


def groups_of(sizes: list[tuple[int, int]]) -> list[list[tuple[int, int]]]:
    """With bounds of 5 rows and 100 bytes."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(writing, "MAX_GROUP_ROWS", 5)
        patch.setattr(writing, "MAX_GROUP_BYTES", 100)
        return list(video_groups(sizes, lambda size: GroupSize(*size)))


def test_rows_and_bytes_bound_a_group() -> None:
    assert groups_of([(2, 1), (3, 1), (1, 1)]) == [[(2, 1), (3, 1)], [(1, 1)]]
    assert groups_of([(1, 60), (1, 40), (1, 1)]) == [[(1, 60), (1, 40)], [(1, 1)]]


def test_a_video_beyond_the_bounds_is_a_group_of_its_own() -> None:
    assert groups_of([(1, 1), (9, 1), (1, 1)]) == [[(1, 1)], [(9, 1)], [(1, 1)]]
    assert groups_of([(1, 999)]) == [[(1, 999)]]
    assert groups_of([]) == []


@given(st.lists(st.tuples(st.integers(1, 8), st.integers(0, 150))))
def test_no_video_is_lost_and_no_group_could_be_longer(sizes: list[tuple[int, int]]) -> None:
    groups = groups_of(sizes)
    assert [size for group in groups for size in group] == sizes
    for group in groups:
        assert len(group) == 1 or (sum(r for r, _ in group) <= 5 and sum(b for _, b in group) <= 100)
    for group, following in pairwise(groups):
        longer = [*group, following[0]]
        assert sum(r for r, _ in longer) > 5 or sum(b for _, b in longer) > 100


def test_captions_of_the_same_words_have_the_same_key() -> None:
    assert caption_key("A dog, running.") == caption_key("a dog running") != caption_key("a running dog")


def test_missing_and_truncated_shards_are_named(tmp_path: Path) -> None:
    (manifest,) = toy_dataset(tmp_path / "d")
    check_files(manifest)
    shard = tmp_path / "d" / manifest.shards[1].file
    shard.write_bytes(shard.read_bytes()[:-1])
    with pytest.raises(
        DatasetError, match=rf"{shard.name} has \d+ bytes, its manifest says {manifest.shards[1].bytes}"
    ):
        check_files(manifest)
    shard.unlink()
    with pytest.raises(DatasetError, match=f"{shard.name} is missing"):
        check_files(manifest)


def test_files_of_videos_are_looked_at_unless_bad_ones_are_skipped(tmp_path: Path) -> None:
    shard = tmp_path / toy_videos(tmp_path).shards[1].file
    shard.unlink()
    with pytest.raises(DatasetError, match=f"{shard.name} is missing"):
        usable(str(tmp_path), require_videos)
    assert usable(str(tmp_path), require_videos, "skip").videos == 5
