"""The rows of each batch, and candidate captions."""

from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.builders.toy import toy_dataset
from vtr_core.config.data_sets import BatchConfig
from vtr_core.data.manifest import Manifest, Shard, VocabularyRecord
from vtr_core.data.plan import BatchPlan, CaptionDraws, Plan, candidate_tokens, nearest_rows
from vtr_core.data.reading.row_groups import RowGroupReader, training_columns
from vtr_core.data.records.schema import ClipSchema, FeatureSpec, VideoSchema
from vtr_core.data.stream.assemble import assemble
from vtr_core.errors import DatasetError


def manifest_of(shards: list[list[list[int]]], kind: type[ClipSchema | VideoSchema] = ClipSchema) -> Manifest:
    """A manifest whose shards have these row groups of these clip counts."""
    records = tuple(
        Shard(f"{i}.parquet", sum(map(sum, groups)), 0, "", "", tuple(tuple(group) for group in groups))
        for i, groups in enumerate(shards)
    )
    schema = kind((FeatureSpec("video", 2),))
    return Manifest("memory", schema, VocabularyRecord("v.json", 1, ""), records, {"adapter": "test"})


layouts = st.lists(
    st.lists(st.lists(st.integers(1, 6), min_size=1, max_size=5), min_size=1, max_size=3), min_size=1, max_size=4
)


@settings(max_examples=60)
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
            shown = [(g, owner[g][r]) for g, r in zip(batch.group, batch.row, strict=True)]
            assert all(shown.count(video) == clips for video in set(shown))
            visited.extend(set(shown))
    assert len(visited) == len(set(visited)) == plan.steps_per_epoch * videos


@pytest.mark.parametrize("shards", [[[[3] * 25]], [[[2] * 12], [[4] * 13]], [[[1] * 9, [2] * 9, [3] * 7]]])
def test_what_makes_no_full_batch_is_not_the_same_in_every_epoch(shards: list[list[list[int]]]) -> None:
    plan = Plan(manifest_of(shards), BatchConfig(videos=10, clips_per_video=1), 0)
    visits = Counter(
        (group, first)
        for window in range(60 * plan.windows_per_epoch)
        for batch in plan.videos(window)
        for group, first in zip(batch.group.tolist(), batch.first_row.tolist(), strict=True)
    )
    assert len(visits) == 25
    assert min(visits.values()) > 60 * 20 / 25 / 2


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


def whole_videos(captions: int = 3, **batch: int) -> Plan:
    settings = BatchConfig(**{"videos": 10, "clips_per_video": captions, **batch})
    return Plan(manifest_of([[[1] * 30, [1] * 30], [[1] * 15]], VideoSchema), settings, seed=2)


def captions_of(batch: BatchPlan, number: int) -> list[int]:
    """The caption of each row, of `number` that each video has."""
    assert batch.draws is not None
    return [batch.draws.caption(row, number) for row in range(len(batch.row))]


def test_a_whole_video_comes_once_an_epoch_with_captions_of_its_own() -> None:
    plan = whole_videos()
    batches = [batch for number in range(plan.windows_per_epoch) for batch in plan.window(number)]
    visited = [(g, r) for batch in batches for g, r in zip(batch.group[::3], batch.row[::3], strict=True)]
    assert len(set(visited)) == len(visited) == 70
    for batch in batches:
        assert batch.group.tolist() == np.repeat(batch.group[::3], 3).tolist()
        assert batch.row.tolist() == np.repeat(batch.row[::3], 3).tolist()
        for number in (3, 20):
            drawn = np.reshape(captions_of(batch, number), (10, 3))
            assert all(len(set(row)) == 3 for row in drawn.tolist())
        assert np.sort(np.reshape(captions_of(batch, 2), (10, 3)), axis=1)[:, [0, 2]].tolist() == [[0, 1]] * 10
        assert captions_of(batch, 1) == [0] * 30


def test_captions_are_drawn_evenly_and_anew_in_every_epoch() -> None:
    plan = whole_videos(captions=1)
    first, second = plan.window(0), plan.window(plan.windows_per_epoch)
    assert [captions_of(batch, 20) for batch in first] != [captions_of(batch, 20) for batch in second]
    assert [captions_of(batch, 20) for batch in first] == [captions_of(b, 20) for b in whole_videos(1).window(0)]
    drawn = [caption for number in range(60) for batch in plan.window(number) for caption in captions_of(batch, 4)]
    shares = np.bincount(drawn) / len(drawn)
    assert np.abs(shares - 0.25).max() < 5 * np.sqrt(0.25 * 0.75 / len(drawn))


@pytest.mark.parametrize("captions", [1, 2])
def test_every_caption_comes_once_in_as_many_epochs_as_there_are_captions(captions: int) -> None:
    manifest = manifest_of([[[1] * 8, [1] * 7], [[1] * 8]], VideoSchema)
    batch = BatchConfig(videos=10, clips_per_video=captions, captions="every", remainder="filled")
    plan = Plan(manifest, batch, seed=3)
    assert plan.steps_per_epoch == 3
    number, shown = 4, Counter[tuple[int, int, int]]()
    for window in range(number // captions * plan.windows_per_epoch):
        for item in plan.window(window):
            places = list(zip(item.group.tolist(), item.row.tolist(), captions_of(item, number), strict=True))
            assert len(set(places)) == len(places)  # no video twice in a batch
            shown.update(places)
    assert len(shown) == 23 * number
    assert sum(count - 1 for count in shown.values()) == number * 7  # what fills the last batches
    second = CaptionDraws(np.array([5]), np.array([number]), every=True)
    assert second.caption(0, number) == np.random.default_rng([5, 1]).permutation(number)[0]


@pytest.mark.parametrize("world", [1, 2, 3, 4])
def test_the_captions_of_all_workers_are_those_of_the_batch(world: int) -> None:
    batch = whole_videos().window(1)[0]
    parts = [batch.part(rank, world) for rank in range(world)]
    assert [caption for part in parts for caption in captions_of(part, 20)] == captions_of(batch, 20)


def slow(video: np.ndarray, middle: np.ndarray, usable: np.ndarray, extra: int) -> np.ndarray:
    rows = []
    for i in range(len(video)):
        changes = [j for j in range(len(video)) if j != i and video[j] == video[i] and usable[j]]
        changes.sort(key=lambda j: (abs(middle[j] - middle[i]), j))
        rows.append([*changes, *[i] * extra][:extra])
    return np.array(rows).reshape(len(video), extra)


def test_the_nearest_of_the_same_video_as_by_slow_search() -> None:
    generator = np.random.default_rng(0)
    for _ in range(30):
        sizes = generator.integers(1, 7, size=4)
        video = np.repeat(generator.permutation(4), sizes).astype(np.int64)
        middle = generator.integers(0, 5, size=len(video)).astype(float)  # ties
        usable = generator.random(len(video)) > 0.3
        extra = int(generator.integers(0, 5))
        np.testing.assert_array_equal(nearest_rows(video, middle, usable, extra), slow(video, middle, usable, extra))


def test_a_bag_is_empty_only_where_its_own_caption_is() -> None:
    tokens = np.array([[1, 0], [0, 0], [2, 3]], np.int32)
    candidates = candidate_tokens(tokens, np.zeros(3, np.int64), np.arange(3.0), np.arange(3.0) + 1, 2)
    assert candidates.tolist() == [[[2, 3], [1, 0]], [[1, 0], [2, 3]], [[1, 0], [2, 3]]]


def test_batches_carry_the_candidates_of_their_rows(tmp_path: Path) -> None:
    (manifest,) = toy_dataset(tmp_path, clips_of=(3, 4, 5))
    batch = BatchConfig(videos=3, clips_per_video=2, candidates=3)
    plan = Plan(manifest, batch, seed=0)
    reader = RowGroupReader(manifest, training_columns(manifest.schema, plan.extra_captions))
    (columns,) = assemble(reader, plan.row_groups, plan.window(0), plan.extra_captions)
    assert columns["candidate_tokens"].shape == (6, 2, manifest.schema.max_words)
    assert "start" not in columns
    # all captions of a toy video are alike, so a row's candidates are its own caption, and not another video's
    np.testing.assert_array_equal(columns["candidate_tokens"], np.repeat(columns["tokens"][:, None], 2, axis=1))
