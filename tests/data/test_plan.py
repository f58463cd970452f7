"""The plan: what an epoch visits, what resuming sees, and what workers share."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.toy import toy_dataset
from vtr_core.config.train import BatchConfig
from vtr_core.data.manifest import Manifest, Shard, VocabularyRecord
from vtr_core.data.plan import Plan
from vtr_core.data.schema import ClipSchema, FeatureSpec
from vtr_core.errors import DatasetError


def manifest_of(shards: list[list[list[int]]]) -> Manifest:
    """A manifest whose shards have these row groups of these clip counts."""
    records = tuple(
        Shard(f"{i}.parquet", sum(map(sum, groups)), 0, "", "", tuple(tuple(group) for group in groups))
        for i, groups in enumerate(shards)
    )
    schema = ClipSchema((FeatureSpec("video", 2),))
    return Manifest("memory", schema, VocabularyRecord("v.json", 1, ""), records, {"adapter": "test"})


layouts = st.lists(
    st.lists(st.lists(st.integers(1, 6), min_size=1, max_size=5), min_size=1, max_size=3), min_size=1, max_size=4
)


@settings(max_examples=60, deadline=None)
@given(layouts, st.integers(1, 4), st.integers(1, 4), st.integers(1, 3), st.integers(0, 3))
def test_an_epoch_visits_every_video_at_most_once_and_only_rows_that_exist(
    layout: list[list[list[int]]], videos: int, clips: int, window: int, epoch: int
) -> None:
    manifest = manifest_of(layout)
    if manifest.videos < videos:
        return
    plan = Plan(manifest, BatchConfig(videos=videos, clips_per_video=clips, window=window), seed=1)
    groups = [group for shard in layout for group in shard]
    owner = [np.repeat(np.arange(len(group)), group) for group in groups]
    visited = []
    first = epoch * plan.windows_per_epoch
    for number in range(first, first + plan.windows_per_epoch):
        for batch in plan.window(number):
            assert len(batch.row) == videos * clips
            assert (np.diff(batch.group) >= 0).all()
            seen = [(g, owner[g][r]) for g, r in zip(batch.group, batch.row, strict=True)]
            assert all(seen.count(video) == clips for video in set(seen))
            visited.extend(set(seen))
    assert len(visited) == len(set(visited)) == plan.steps_per_epoch * videos


def test_rows_of_a_video_with_enough_clips_are_not_repeated() -> None:
    plan = Plan(manifest_of([[[5, 9, 6]]]), BatchConfig(videos=3, clips_per_video=5), seed=0)
    (batch,) = plan.window(0)
    assert len(set(batch.row.tolist())) == 15


def test_steps_number_the_batches_and_windows_hold_them() -> None:
    plan = Plan(
        manifest_of([[[1] * 7, [1] * 4], [[1] * 9]]), BatchConfig(videos=3, clips_per_video=1, window=2), seed=0
    )
    assert (plan.steps_per_epoch, plan.windows_per_epoch) == (6, 3)
    steps = [batch.step for number in range(9) for batch in plan.window(number)]
    assert steps == list(range(18))
    for step in steps:
        assert step in [batch.step for batch in plan.window(plan.window_of(step))]


def test_epochs_and_seeds_differ_and_repeat_exactly() -> None:
    layout = [[[2] * 30, [3] * 30]]
    batch = BatchConfig(videos=10, clips_per_video=2)

    def rows(seed: int, number: int) -> list[int]:
        (first, *_) = Plan(manifest_of(layout), batch, seed).window(number)
        return (first.group * 1000 + first.row).tolist()

    assert rows(0, 0) == rows(0, 0)
    assert rows(0, 0) != rows(1, 0)
    assert rows(0, 0) != rows(0, 2)


@pytest.mark.parametrize("world", [1, 2, 3, 4])
def test_the_parts_of_all_workers_are_the_batch(world: int) -> None:
    (batch, *_) = Plan(manifest_of([[[2] * 30, [3] * 30]]), BatchConfig(videos=12, clips_per_video=2), 0).window(0)
    parts = [batch.part(rank, world) for rank in range(world)]
    assert np.concatenate([part.row for part in parts]).tolist() == batch.row.tolist()
    assert np.concatenate([part.group for part in parts]).tolist() == batch.group.tolist()


def test_a_worker_touches_its_share_of_a_window_only() -> None:
    """With videos sampled evenly, worker r of W reads about 1/W of a window's row groups for all its batches."""
    layout = [[[1] * 100 for _ in range(40)]]
    plan = Plan(manifest_of(layout), BatchConfig(videos=500, clips_per_video=1, window=8), 0)
    touched = {group for batch in plan.window(0) for group in batch.part(0, 4).group.tolist()}
    assert len(touched) <= 40 / 4 + 4


def test_a_data_set_smaller_than_a_batch_is_refused(tmp_path: Path) -> None:
    (manifest,) = toy_dataset(tmp_path / "d")
    with pytest.raises(DatasetError, match=r"--batch\.videos 5"):
        Plan(manifest, BatchConfig(videos=6), 0)
