"""Missing and truncated shards are named before anything is read."""

from pathlib import Path

import pytest

from tests.toy import toy_dataset
from vtr_core.data.checks import check_files
from vtr_core.errors import DatasetError


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
