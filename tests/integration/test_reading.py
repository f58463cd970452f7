"""What Ray Data delivers is what the plan says, for any number of workers and from any step."""

import shutil
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import numpy as np
import pytest

from vtr_core.config.train import BatchConfig, OnBadShard
from vtr_core.data import reading
from vtr_core.data.assemble import assemble
from vtr_core.data.manifest import Manifest
from vtr_core.data.plan import Plan, RowGroup
from vtr_core.data.reading import Part, stream
from vtr_core.data.row_groups import Columns, RowGroupReader, training_columns
from vtr_core.data.shard_file import DamagedShard

pytestmark = pytest.mark.integration
STEPS = 11


@pytest.fixture(scope="module")
def manifest(world: Path) -> Manifest:
    return Manifest.load(str(world / "train"))


def planned(manifest: Manifest) -> tuple[Plan, RowGroupReader]:
    plan = Plan(manifest, BatchConfig(videos=16, clips_per_video=3, window=2), seed=5)
    return plan, RowGroupReader(manifest, training_columns(manifest.schema))


def expected(manifest: Manifest) -> list[Columns]:
    """The batches of the first steps, read in this process."""
    plan, reader = planned(manifest)
    batches = [batch for number in range(STEPS) for batch in plan.window(number)][:STEPS]
    return list(assemble(reader, plan.row_groups, batches))


def streamed(manifest: Manifest, part: Part, first_step: int) -> list[Columns]:
    plan, reader = planned(manifest)
    return list(islice(stream(reader, plan, part, first_step), STEPS - first_step))


@pytest.mark.parametrize(("world_size", "first_step"), [(1, 0), (2, 3), (3, 7)])
def test_the_stream_is_the_plan(manifest: Manifest, world_size: int, first_step: int) -> None:
    whole = expected(manifest)
    parts = [streamed(manifest, Part(rank, world_size), first_step) for rank in range(world_size)]
    for offset, of_all in enumerate(zip(*parts, strict=True)):
        step = first_step + offset
        assert {int(batch["step"][0]) for batch in of_all} == {step}
        for name, values in whole[step].items():
            together = np.concatenate([batch[name] for batch in of_all])
            assert together.dtype == values.dtype
            np.testing.assert_array_equal(together, values)


def test_the_stream_goes_on_from_one_execution_to_the_next(manifest: Manifest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "FIRST_WINDOWS", 1)
    monkeypatch.setattr(reading, "WINDOWS", 2)
    for step, (found, wanted) in enumerate(zip(streamed(manifest, Part(0, 1), 0), expected(manifest), strict=True)):
        assert int(found["step"][0]) == step
        np.testing.assert_array_equal(found["clip_key"], wanted["clip_key"])


@pytest.fixture
def damaged(world: Path, tmp_path: Path) -> Manifest:
    """The data set with a flipped byte in its first shard's first row group."""
    shutil.copytree(world / "train", tmp_path / "damaged")
    manifest = Manifest.load(str(tmp_path / "damaged"))
    path = tmp_path / "damaged" / manifest.shards[0].file
    content = bytearray(path.read_bytes())
    name = manifest.schema.features[0].name
    features = RowGroupReader(manifest, [name]).read(RowGroup(0, 0))[name]
    content[content.index(features[:4].tobytes())] ^= 1
    path.write_bytes(content)
    return manifest


def test_a_damaged_shard_is_named(damaged: Manifest) -> None:
    place = r"part-00000.parquet \(sha256 .*, row group 0\)"
    with pytest.raises(
        DamagedShard, match=rf"^\S+{place} cannot be read: a page does not match its checksum"
    ) as caught:
        for _ in islice(streamed_from(damaged, Part(0, 1), "fail"), STEPS):
            pass
    assert type(caught.value) is DamagedShard


def test_a_damaged_shard_is_replaced_and_reported(damaged: Manifest) -> None:
    plan, reader = planned(damaged)
    batches = [batch for number in range(STEPS) for batch in plan.window(number)][:STEPS]
    expected = list(assemble(reader, plan.row_groups, batches, on_bad_shard="skip"))
    parts = [list(islice(streamed_from(damaged, Part(rank, 2), "skip"), STEPS)) for rank in range(2)]
    for step, whole in enumerate(expected):
        together = np.concatenate([part[step]["clip_key"] for part in parts])
        np.testing.assert_array_equal(together, whole["clip_key"])
        replaced = np.concatenate([part[step]["replaced"] for part in parts])
        assert set(replaced[:, 0]) == set(whole["replaced"][:, 0])
        assert replaced[:, 1].sum() == whole["replaced"][:, 1].sum()
    assert any(len(whole["replaced"]) for whole in expected)


def streamed_from(manifest: Manifest, part: Part, on_bad_shard: OnBadShard) -> Iterator[Columns]:
    plan, reader = planned(manifest)
    return stream(reader, plan, part, 0, on_bad_shard=on_bad_shard)
