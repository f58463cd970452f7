"""Batches as read from files hold the rows that the plan names."""

from pathlib import Path

import numpy as np
import pytest

from tests.toy import toy_dataset
from vtr_core.config.train import BatchConfig
from vtr_core.data.assemble import RowGroupReader, assemble, training_columns
from vtr_core.data.manifest import Manifest
from vtr_core.data.plan import Plan
from vtr_core.data.schema import VideoSchema
from vtr_core.errors import DatasetError, SchemaMismatch
from vtr_core.fingerprint import key64


@pytest.fixture
def manifest(tmp_path: Path) -> Manifest:
    return toy_dataset(tmp_path / "d", clips_of=[1 + i % 5 for i in range(23)], videos_per_shard=7)[0]


def test_every_row_is_the_planned_clip(manifest: Manifest) -> None:
    plan = Plan(manifest, BatchConfig(videos=4, clips_per_video=3, window=2), seed=3)
    reader = RowGroupReader(manifest, [*training_columns(manifest.schema), "clip_id", "video_id", "caption"])
    everything = [reader.read(place) for place in plan.row_groups]
    for number in range(plan.windows_per_epoch):
        batches = plan.window(number)
        for batch, columns in zip(batches, assemble(reader, plan.row_groups, batches), strict=True):
            expected = [everything[g]["clip_id"][r] for g, r in zip(batch.group, batch.row, strict=True)]
            assert columns["clip_id"].tolist() == expected
            for i, clip_id in enumerate(expected):
                video, clip = map(int, clip_id[1:].split(":"))
                assert columns["video"][i].tolist() == [video, clip, video + clip]
                assert columns["has_audio"][i] == (clip % 3 == 0)
                assert columns["audio"][i].tolist() == ([clip, 1] if clip % 3 == 0 else [0, 0])
                assert columns["clip_key"][i] == key64(clip_id)
                assert columns["video_key"][i] == key64(f"v{video}")


def test_features_are_float16_and_tokens_int32(manifest: Manifest) -> None:
    reader = RowGroupReader(manifest, training_columns(manifest.schema))
    columns = reader.read(Plan(manifest, BatchConfig(videos=2), 0).row_groups[0])
    assert columns["video"].dtype == np.float16
    assert columns["tokens"].dtype == np.int32
    assert columns["tokens"].shape[1] == manifest.schema.max_words


def test_whole_videos_have_no_columns_to_train_on() -> None:
    with pytest.raises(SchemaMismatch, match="is videos/1, training and evaluation read clips/1"):
        training_columns(VideoSchema(()))


def test_a_missing_and_a_truncated_shard_are_named(manifest: Manifest) -> None:
    reader = RowGroupReader(manifest, ["video"])
    place = Plan(manifest, BatchConfig(videos=2), 0).row_groups[0]
    shard = Path(manifest.location.path) / manifest.shards[place.shard].file
    content = shard.read_bytes()
    shard.write_bytes(content[: len(content) // 2])
    with pytest.raises(DatasetError, match=rf"{shard.name}.*cannot be read"):
        reader.read(place)
    shard.unlink()
    with pytest.raises(DatasetError, match=f"{shard.name} is missing"):
        reader.read(place)
