"""Batches from Ray Data and from threads are those of the plan."""

from collections.abc import Generator, Iterator
from dataclasses import replace
from itertools import islice
from pathlib import Path
from threading import Event
from typing import Any

import numpy as np
import pytest

from tests.builders.toy import ToyFrames, damage, toy_dataset, toy_videos, written
from vtr_core.config.data_sets import BatchConfig
from vtr_core.data.ingest.plan import IngestOptions
from vtr_core.data.manifest import Manifest
from vtr_core.data.plan import Part, Plan
from vtr_core.data.reading.row_groups import Columns, RowGroupReader, training_columns
from vtr_core.data.shards import shard_file as writing
from vtr_core.data.shards.shard_file import DamagedShard
from vtr_core.data.stream.assemble import assemble, read_directly
from vtr_core.data.stream.reading import Started, _decode, _encode, _Task, window_items


def batches(manifest: Manifest, extra_captions: int = 0, means: bool = True) -> list[Columns]:
    plan = Plan(manifest, BatchConfig(videos=2, clips_per_video=2, window=2), 0)
    reader = RowGroupReader(manifest, training_columns(manifest.schema, extra_captions), means)
    planned = [batch for number in range(3) for batch in plan.window(number)]
    return list(assemble(reader, plan.row_groups, planned, extra_captions, "skip", max_frames=4))


@pytest.mark.parametrize("kind", ["clips", "clips and candidates", "videos", "videos without means", "frames"])
def test_a_block_gives_back_its_batches(kind: str, tmp_path: Path) -> None:
    if kind.startswith("videos"):
        settings = batches(toy_videos(tmp_path, (3, 1, 2, 0, 5, 1, 2)), means=kind == "videos")
        assert len({batch["video"].shape for batch in settings}) > 1
    elif kind == "frames":
        settings = batches(written(ToyFrames(bad=frozenset({"v2:0"})), tmp_path, IngestOptions())[0])
        assert sum(len(batch["replaced"]) for batch in settings) > 0
    else:
        settings = batches(toy_dataset(tmp_path)[0], 2 if "candidates" in kind else 0)
    result = list(_decode(_encode(settings)))
    assert len(result) == len(settings) > 2
    for before, after in zip(settings, result, strict=True):
        assert before.keys() == after.keys()
        for name, values in before.items():
            assert after[name].dtype == values.dtype
            np.testing.assert_array_equal(after[name], values)


SECONDS = 60
"""For what happens at once."""


@pytest.mark.parametrize("close_first", [False, True])
def test_a_started_generator_begins_before_it_is_asked(close_first: bool) -> None:
    """Closing does not wait for the first item, and closes behind it."""
    begun, go_on, closed = Event(), Event(), Event()

    def items() -> Generator[int, None, None]:
        begun.set()
        go_on.wait(SECONDS)
        try:
            yield from range(3)
        finally:
            closed.set()

    started = Started(items())
    assert begun.wait(SECONDS)
    if close_first:
        started.close()
        assert not closed.is_set()
    go_on.set()
    assert close_first or list(started) == [0, 1, 2]
    assert closed.wait(SECONDS)


def test_an_error_of_the_first_item_is_raised_where_it_is_asked_for() -> None:
    started = Started(1 // 0 for _ in range(1))
    with pytest.raises(ZeroDivisionError):
        next(iter(started))
    started.close()


FIRST, STEPS = 3, 6


@pytest.fixture
def manifest(tmp_path: Path) -> Iterator[Manifest]:
    """Two or three videos in a row group, seven in a shard."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(writing, "MAX_GROUP_ROWS", 9)
        yield toy_dataset(tmp_path / "d", clips_of=[1 + i % 5 for i in range(23)], videos_per_shard=7)[0]


def planned(manifest: Manifest) -> tuple[RowGroupReader, Plan]:
    plan = Plan(manifest, BatchConfig(videos=6, clips_per_video=2, window=2), seed=3)
    return RowGroupReader(manifest, training_columns(manifest.schema)), plan


@pytest.mark.parametrize("broken", [False, True])
def test_every_batch_is_that_of_the_plan(manifest: Manifest, broken: bool) -> None:
    reader, plan = planned(manifest)
    if broken:
        damage(manifest, plan.row_groups[plan.window(1)[0].groups[1]])
    rows = [batch for number in range(STEPS) for batch in plan.window(number)][FIRST : FIRST + STEPS]
    expected = [next(assemble(reader, plan.row_groups, [batch], on_bad_shard="skip")) for batch in rows]
    result = list(islice(read_directly(reader, plan, Part(0, 1), FIRST, on_bad_shard="skip"), STEPS))
    assert any(len(batch["replaced"]) for batch in result) == broken
    for batch, plans, plain in zip(result, rows, expected, strict=True):
        assert int(batch.pop("step")[0]) == plans.step
        _same(batch, plain)


def _same(result: Columns, expected: Columns) -> None:
    assert result.keys() == expected.keys()
    for name, values in expected.items():
        np.testing.assert_array_equal(result[name], values)


def test_a_damaged_row_group_ends_the_reading(manifest: Manifest) -> None:
    reader, plan = planned(manifest)
    damage(manifest, plan.row_groups[plan.window(1)[0].groups[0]])
    with pytest.raises(DamagedShard, match="CRC checksum verification failed"):
        list(islice(read_directly(reader, plan, Part(0, 1), 0), 2 * STEPS))


@pytest.mark.parametrize("batch", [{"clips_per_video": 2}, {"captions": "every"}, {"epoch": "captions"}], ids=str)
def test_tasks_of_ray_data_read_the_planned_batches(batch: dict[str, Any], tmp_path: Path) -> None:
    manifest = toy_videos(tmp_path, (3, 1, 2, 0, 5, 1, 2))
    plan = Plan(manifest, BatchConfig(**{"videos": 3, "clips_per_video": 1, "window": 2, **batch}), seed=3)
    reader = RowGroupReader(manifest, training_columns(manifest.schema))
    task = _Task(replace(reader, manifest=replace(manifest, shards=())), Part(1, 2), plan.sampling, 0, 64, "fail")
    for number, item in enumerate(window_items(manifest, plan, range(4))):
        planned = [batch.part(1, 2) for batch in plan.window(number)]
        result = [columns for block in task.read(2**20, item) for columns in _decode(block)]
        for columns, expected in zip(result, assemble(reader, plan.row_groups, planned), strict=True):
            columns.pop("step")
            _same(columns, expected)
