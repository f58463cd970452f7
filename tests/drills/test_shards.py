"""Shards that are damaged: the run ends and can go on once they are restored, or goes on without them."""

import shutil
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from pipelines.train.command import TrainFlags, resume, train
from tests.drills import runs
from tests.drills.conftest import Record, Undisturbed
from vtr_core.data.manifest import Manifest
from vtr_core.data.plan import RowGroup
from vtr_core.data.reading.row_groups import RowGroupReader
from vtr_core.data.shards.shard_file import DamagedShard
from vtr_core.errors import DatasetError

pytestmark = [pytest.mark.integration, pytest.mark.long, pytest.mark.linux, pytest.mark.usefixtures("local_ray")]
EARLY = {"training.checkpoint_every": 1, "scaling.prefetch_batches": 1}


@pytest.fixture
def copied(world: Path, tmp_path: Path) -> Path:
    """The data set, to be damaged."""
    shutil.copytree(world, tmp_path / "world")
    return tmp_path / "world"


def flip(data: Path, shard: int = 1) -> tuple[str, Callable[[], None]]:
    """Flip one byte of a feature; the shard's hash as messages show it, and what restores it."""
    manifest = Manifest.load(str(data / "train"))
    path = data / "train" / manifest.shards[shard].file
    name = manifest.schema.features[0].name
    values = RowGroupReader(manifest, [name]).read(RowGroup(shard, 0))[name].tobytes()
    content = path.read_bytes()
    damaged = bytearray(content)
    damaged[content.index(values[:16])] ^= 1
    path.write_bytes(damaged)
    return manifest.shards[shard].sha256[:12], lambda: (path.write_bytes(content), None)[1]


def replaced(run: Path) -> list[float]:
    """Rows that stood in for others, up to each logged step."""
    return [point["train/replaced_rows"] for point in runs.points(run) if "train/replaced_rows" in point]


def test_a_shard_with_a_flipped_byte_ends_the_run_until_it_is_restored(
    copied: Path, tmp_path: Path, undisturbed: Undisturbed, record: Record
) -> None:
    run, (sha256, restore) = tmp_path / "run", flip(copied)
    with pytest.raises(DamagedShard, match=rf"part-00001\.parquet \(sha256 {sha256}….*restore or rebuild it"):
        train(runs.config(**EARLY), TrainFlags(data=str(copied), out=str(run)))
    fault = time.time()
    restore()
    resume(str(run))
    runs.assert_equal_runs(undisturbed(), run)
    outcome = "vtr train --resume, after the shard was restored"
    record("a shard with one flipped byte", outcome, run, fault)


def test_a_truncated_shard_is_named_before_anything_starts(copied: Path, tmp_path: Path) -> None:
    path = copied / "train" / "part-00001.parquet"
    path.write_bytes(path.read_bytes()[:-100])
    sha256 = Manifest.load(str(copied / "train")).shards[1].sha256
    with pytest.raises(DatasetError, match=rf"part-00001\.parquet has \d+ bytes.*sha256 {sha256[:12]}"):
        train(runs.config(), TrainFlags(data=str(copied), out=str(tmp_path / "run")))
    assert not (tmp_path / "run").exists()


def test_a_shard_truncated_during_the_run_is_restored(
    copied: Path, tmp_path: Path, undisturbed: Undisturbed, record: Record
) -> None:
    """With "skip" the check before the start is left out, so the damage shows when the shard is read."""
    run, path = tmp_path / "run", copied / "train" / "part-00002.parquet"
    content = path.read_bytes()
    path.write_bytes(content[: len(content) // 2])
    train(runs.config(2, on_bad_shard="skip"), TrainFlags(data=str(copied), out=str(run)))
    found = runs.events(run, "bad_shard")
    assert {event["file"] for event in found} == {path.name}
    assert found[0]["sha256"] == Manifest.load(str(copied / "train")).shards[2].sha256
    assert "bytes, its manifest says" in found[0]["reason"]
    assert runs.steps(run) == list(range(1, runs.STEPS + 1))
    assert replaced(run) == sorted(replaced(run))
    assert replaced(run)[-1] > 0
    record("a truncated shard, --on-bad-shard skip", "by itself, its rows replaced")


def test_a_run_may_be_resumed_with_skip(copied: Path, tmp_path: Path) -> None:
    run, _ = tmp_path / "run", flip(copied)
    with pytest.raises(DamagedShard):
        train(runs.config(**EARLY), TrainFlags(data=str(copied), out=str(run)))
    resume(str(run), on_bad_shard="skip")
    assert runs.steps(run) == list(range(1, runs.STEPS + 1))
    assert runs.events(run, "bad_shard")
