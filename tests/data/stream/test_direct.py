"""Batches read by several threads are those of the plan, as one thread reads them."""

from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import numpy as np
import pytest

from tests.builders.toy import toy_dataset
from tests.data.stream.test_assemble import damage
from vtr_core.config.data_sets import BatchConfig
from vtr_core.data.manifest import Manifest
from vtr_core.data.plan import Part, Plan
from vtr_core.data.reading.row_groups import Columns, RowGroupReader, training_columns
from vtr_core.data.shards import shard_file as writing
from vtr_core.data.shards.shard_file import DamagedShard
from vtr_core.data.stream import assemble as direct
from vtr_core.data.stream.assemble import assemble, read_directly

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
    found = list(islice(read_directly(reader, plan, Part(0, 1), FIRST, on_bad_shard="skip"), STEPS))
    assert any(len(batch["replaced"]) for batch in found) == broken
    for batch, wanted, plain in zip(found, rows, expected, strict=True):
        assert int(batch.pop("step")[0]) == wanted.step
        _same(batch, plain)


def _same(found: Columns, expected: Columns) -> None:
    assert found.keys() == expected.keys()
    for name, values in expected.items():
        np.testing.assert_array_equal(found[name], values)


@pytest.mark.usefixtures("three_threads")
def test_a_damaged_row_group_ends_the_reading(manifest: Manifest) -> None:
    reader, plan = planned(manifest)
    damage(manifest, plan.row_groups[plan.window(1)[0].groups[0]])
    with pytest.raises(DamagedShard, match="CRC checksum verification failed"):
        list(islice(read_directly(reader, plan, Part(0, 1), 0), 2 * STEPS))
