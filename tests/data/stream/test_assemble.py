"""Batches as read from files hold the rows that the plan names."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from tests.builders.toy import damage, toy_dataset
from vtr_core.config.data_sets import BatchConfig
from vtr_core.data.manifest import Manifest
from vtr_core.data.plan import Plan
from vtr_core.data.reading.row_groups import RowGroupReader, training_columns
from vtr_core.data.shards import shard_file as writing
from vtr_core.data.shards.shard_file import DamagedShard
from vtr_core.data.stream.assemble import assemble
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


@pytest.fixture
def many_groups(tmp_path: Path) -> Iterator[Manifest]:
    """Two or three videos in a row group, seven in a shard."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(writing, "MAX_GROUP_ROWS", 9)
        yield toy_dataset(tmp_path / "groups", clips_of=[1 + i % 5 for i in range(23)], videos_per_shard=7)[0]


def test_rows_of_a_damaged_row_group_are_replaced_whatever_the_number_of_workers(many_groups: Manifest) -> None:
    plan = Plan(many_groups, BatchConfig(videos=6, clips_per_video=2), seed=3)
    reader = RowGroupReader(many_groups, training_columns(many_groups.schema))
    batches = plan.window(0)
    good = list(assemble(reader, plan.row_groups, batches))
    bad = batches[0].groups[1]
    instead = batches[0].groups[2]
    damage(many_groups, plan.row_groups[bad])
    replacing = reader.read(plan.row_groups[instead])["clip_key"]
    whole = list(assemble(reader, plan.row_groups, batches, on_bad_shard="skip"))
    for batch, before, after in zip(batches, good, whole, strict=True):
        hit = batch.group == bad
        assert after["replaced"].tolist() == ([[bad, hit.sum()]] if hit.any() else [])
        np.testing.assert_array_equal(after["video"][~hit], before["video"][~hit])
        if batch is batches[0]:
            assert hit.any()
            assert after["clip_key"][hit].tolist() == replacing[batch.row[hit] % len(replacing)].tolist()
    for world in (2, 3):
        parts = [
            list(assemble(reader, plan.row_groups, [b.part(rank, world) for b in batches], on_bad_shard="skip"))
            for rank in range(world)
        ]
        for step, batch in enumerate(whole):
            together = np.concatenate([part[step]["clip_key"] for part in parts])
            np.testing.assert_array_equal(together, batch["clip_key"])
            assert sum(part[step]["replaced"][:, 1].sum() for part in parts) == batch["replaced"][:, 1].sum()


def test_the_last_row_group_is_replaced_by_the_first(many_groups: Manifest) -> None:
    plan = Plan(many_groups, BatchConfig(videos=6, clips_per_video=2), seed=3)
    reader = RowGroupReader(many_groups, training_columns(many_groups.schema))
    planned = plan.window(0)[0]
    damage(many_groups, plan.row_groups[planned.groups[-1]])
    (batch,) = assemble(reader, plan.row_groups, [planned], on_bad_shard="skip")
    first = reader.read(plan.row_groups[planned.groups[0]])["clip_key"]
    hit = planned.group == planned.groups[-1]
    assert batch["clip_key"][hit].tolist() == first[planned.row[hit] % len(first)].tolist()


def test_a_batch_without_a_readable_row_group_is_an_error(manifest: Manifest) -> None:
    plan = Plan(manifest, BatchConfig(videos=4, clips_per_video=3, window=2), seed=3)
    reader = RowGroupReader(manifest, training_columns(manifest.schema))
    for place in plan.row_groups:
        damage(manifest, place)
    with pytest.raises(DamagedShard, match="CRC checksum verification failed"):
        next(assemble(reader, plan.row_groups, plan.window(0), on_bad_shard="skip"))
