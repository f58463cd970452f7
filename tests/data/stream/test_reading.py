"""Batches from Ray Data and from threads are those of the plan."""

from collections.abc import Generator, Iterator
from itertools import islice
from pathlib import Path
from threading import Event

import numpy as np
import pytest

from tests.builders.toy import ToyFrames, toy_dataset, toy_videos, written
from tests.data.stream.test_assemble import damage
from vtr_core.config.data_sets import BatchConfig
from vtr_core.data.ingest.plan import IngestOptions
from vtr_core.data.manifest import Manifest
from vtr_core.data.plan import Part, Plan
from vtr_core.data.reading.row_groups import Columns, RowGroupReader, training_columns
from vtr_core.data.shards import shard_file as writing
from vtr_core.data.shards.shard_file import DamagedShard
from vtr_core.data.stream import assemble as direct
from vtr_core.data.stream.assemble import assemble, read_directly
from vtr_core.data.stream.reading import Started, _decode, _encode


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


class Items:
    """A generator of 0, 1, 2 that tells when it begins, waits before its first item, and tells when it is closed."""

    def __init__(self) -> None:
        self.begun, self.go_on, self.closed = Event(), Event(), Event()

    def __call__(self) -> Generator[int, None, None]:
        self.begun.set()
        self.go_on.wait(SECONDS)
        try:
            yield from range(3)
        finally:
            self.closed.set()


def test_it_begins_before_it_is_asked_and_leaves_nothing_out() -> None:
    items = Items()
    started = Started(items())
    assert items.begun.wait(SECONDS)
    items.go_on.set()
    assert list(started) == [0, 1, 2]


def test_closing_does_not_wait_for_the_first_item_and_closes_behind_it() -> None:
    items = Items()
    started = Started(items())
    assert items.begun.wait(SECONDS)
    started.close()
    assert not items.closed.is_set()
    items.go_on.set()
    assert items.closed.wait(SECONDS)


def test_an_error_of_the_first_item_is_raised_where_it_is_asked_for() -> None:
    def fails() -> Generator[int, None, None]:
        yield 1 // 0

    started = Started(fails())
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


@pytest.fixture
def three_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(direct, "THREADS", 3)


def planned(manifest: Manifest) -> tuple[RowGroupReader, Plan]:
    plan = Plan(manifest, BatchConfig(videos=6, clips_per_video=2, window=2), seed=3)
    return RowGroupReader(manifest, training_columns(manifest.schema)), plan


@pytest.mark.usefixtures("three_threads")
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


@pytest.mark.usefixtures("three_threads")
def test_a_damaged_row_group_ends_the_reading(manifest: Manifest) -> None:
    reader, plan = planned(manifest)
    damage(manifest, plan.row_groups[plan.window(1)[0].groups[0]])
    with pytest.raises(DamagedShard, match="CRC checksum verification failed"):
        list(islice(read_directly(reader, plan, Part(0, 1), 0), 2 * STEPS))
