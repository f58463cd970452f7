"""Missing and truncated shards are named before anything is read."""

from pathlib import Path

import pytest

from tests.builders.toy import toy_dataset, toy_videos
from vtr_core.data.records.schema import require_clips, require_videos
from vtr_core.data.shards.shard_file import check_files, usable
from vtr_core.errors import DatasetError, SchemaMismatch


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


def test_clips_are_no_videos_and_the_other_way_round(tmp_path: Path) -> None:
    clips, videos = str(tmp_path / "clips"), str(tmp_path / "videos")
    toy_dataset(Path(clips))
    toy_videos(Path(videos))
    assert usable(clips, require_clips).schema.kind == "clips"
    assert usable(videos, require_videos).schema.kind == "videos"
    with pytest.raises(SchemaMismatch, match=r"videos is videos/1.* reads clips/1.* vtr ingest .* --records clips"):
        usable(videos, require_clips)
    with pytest.raises(SchemaMismatch, match=r"clips is clips/1.* reads videos/1.* vtr ingest .* --records videos"):
        usable(clips, require_videos)


def test_files_of_videos_are_looked_at_unless_bad_ones_are_skipped(tmp_path: Path) -> None:
    shard = tmp_path / toy_videos(tmp_path).shards[1].file
    shard.unlink()
    with pytest.raises(DatasetError, match=f"{shard.name} is missing"):
        usable(str(tmp_path), require_videos)
    assert usable(str(tmp_path), require_videos, "skip").videos == 5
