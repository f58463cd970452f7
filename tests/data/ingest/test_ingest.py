"""An ingest writes each shard once, resumes, counts what it drops, and names what stands in its way."""

import dataclasses
import hashlib
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from tests.builders.toy import Toy, toy_dataset
from vtr_core.data.ingest.ingest import abandon, begin, claim, do, finish, is_complete
from vtr_core.data.ingest.plan import IngestOptions, IngestPlan, plan_ingest
from vtr_core.data.manifest import Manifest, splits
from vtr_core.errors import DatasetError, InputError, RunConflict
from vtr_core.storage import locate


def make_plan(out: Path, toy: Toy | None = None, **options: object) -> IngestPlan:
    values = {"videos_per_shard": 2, **options}
    return plan_ingest(toy or Toy(), locate(str(out)), None, IngestOptions(**values))  # type: ignore[arg-type]


def complete(plan: IngestPlan) -> list[Manifest]:
    for task in begin(plan):
        do(plan, task)
    return list(finish(plan).manifests)


def test_the_manifest_describes_the_files(tmp_path: Path) -> None:
    (manifest,) = complete(make_plan(tmp_path))
    assert Manifest.load(str(tmp_path)) == dataclasses.replace(manifest, uri=str(tmp_path))
    assert (manifest.rows, manifest.videos, len(manifest.shards)) == (15, 5, 3)
    for shard in manifest.shards:
        content = (tmp_path / shard.file).read_bytes()
        assert (shard.bytes, shard.sha256) == (len(content), hashlib.sha256(content).hexdigest())
        file = pq.ParquetFile(tmp_path / shard.file)
        for index, counts in enumerate(shard.row_groups):
            videos = file.read_row_group(index, ["video_id"]).column("video_id").to_pylist()
            assert [videos.count(video) for video in dict.fromkeys(videos)] == list(counts)
    assert not (tmp_path / "_ingest").exists()


def test_an_interrupted_ingest_goes_on_where_it_stopped(tmp_path: Path) -> None:
    first = make_plan(tmp_path / "a")
    tasks = begin(first)
    do(first, tasks[0])
    with pytest.raises(DatasetError, match="interrupted"):
        Manifest.load(str(tmp_path / "a"))
    again = make_plan(tmp_path / "a")
    assert [task.name for task in begin(again)] == [task.name for task in tasks[1:]]
    left = tmp_path / "a" / f"{tasks[1].name}.parquet.part-4711"
    left.write_bytes(b"half of it, of a killed process")
    resumed = complete(again)
    assert not left.exists()
    undisturbed = complete(make_plan(tmp_path / "b"))
    assert resumed[0].fingerprint == undisturbed[0].fingerprint


def test_another_ingest_does_not_take_the_folder(tmp_path: Path) -> None:
    begin(make_plan(tmp_path / "begun"))
    with pytest.raises(RunConflict, match="interrupted ingest with other settings"):
        begin(make_plan(tmp_path / "begun", seed=1))
    complete(make_plan(tmp_path / "done"))
    with pytest.raises(RunConflict, match="another data set"):
        is_complete(make_plan(tmp_path / "done", seed=1))


def test_splits_are_data_sets_of_whole_videos(tmp_path: Path) -> None:
    manifests = toy_dataset(tmp_path, clips_of=[2] * 40, splits={"train": 0.7, "val": 0.3})
    assert set(splits(str(tmp_path))) == {"train", "val"}
    assert sum(manifest.videos for manifest in manifests) == 40
    shown = [
        set(pq.read_table(Path(m.uri) / shard.file, columns=["video_id"]).column(0).to_pylist())
        for m in manifests
        for shard in m.shards
    ]
    assert sum(map(len, shown)) == 40
    with pytest.raises(DatasetError, match=r"holds splits, give one of .*train"):
        Manifest.load(str(tmp_path))


def test_drops_are_counted_and_named(tmp_path: Path) -> None:
    plan = make_plan(tmp_path, Toy(fail_at=frozenset({2})))
    for task in begin(plan):
        do(plan, task)
    result = finish(plan)
    assert result.manifests[0].dropped == {"unreadable_file": 4}
    assert result.manifests[0].rows == 11
    assert result.drops.examples["unreadable_file"] == ["v2 cannot be read"]


def test_strict_makes_a_drop_an_error(tmp_path: Path) -> None:
    plan = make_plan(tmp_path, Toy(fail_at=frozenset({2})), strict=True)
    with pytest.raises(InputError, match=r"v2 cannot be read.*--strict"):
        for task in begin(plan):
            do(plan, task)


def test_a_source_without_a_usable_row_leaves_nothing(tmp_path: Path) -> None:
    out = tmp_path / "out"
    plan = make_plan(out, Toy((2,), fail_at=frozenset({0})))
    for task in begin(plan):
        do(plan, task)
    with pytest.raises(DatasetError, match="v0 cannot be read"):
        finish(plan)
    assert not (out / "manifest.json").exists()
    abandon(plan)
    assert not out.exists()
    complete(make_plan(out, Toy((2,))))


def test_an_ingest_that_finished_no_shard_is_cleared_away(tmp_path: Path) -> None:
    out = tmp_path / "out"
    plan = make_plan(out)
    begin(plan)
    abandon(plan)
    assert not out.exists()


def test_a_failed_ingest_removes_no_file_of_others(tmp_path: Path) -> None:
    remaining = [tmp_path / name for name in ("train/a.npy", "train/a.npy.part-12", "part-00000.parquet", "notes.txt")]
    for file in remaining:
        file.parent.mkdir(exist_ok=True)
        file.write_text("of the user")
    plan = make_plan(tmp_path, splits={"train": 0.5, "test": 0.5})
    assert claim(plan)
    shard = plan.folder("train") / plan.tasks[-1].file
    for written in (shard.path, f"{shard.path}.part-4711", f"{shard.path}.thumbnails"):
        Path(written).write_bytes(b"half of it")
    abandon(plan)
    assert sorted(path for path in tmp_path.rglob("*") if path.is_file()) == sorted(remaining)


def test_one_of_several_ingests_claims_the_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first, second = make_plan(tmp_path), make_plan(tmp_path, seed=1)
    claim(first)
    monkeypatch.setattr("vtr_core.storage.exists", lambda _: False)  # as seen by the second before the first claimed
    with pytest.raises(RunConflict, match="interrupted ingest with other settings"):
        claim(second)
    assert not claim(make_plan(tmp_path))


def test_data_sets_with_splits_and_without_do_not_share_a_folder(tmp_path: Path) -> None:
    splits = {"train": 0.5, "test": 0.5}
    complete(make_plan(tmp_path / "whole"))
    with pytest.raises(RunConflict, match="already holds a data set without splits"):
        is_complete(make_plan(tmp_path / "whole", splits=splits))
    complete(make_plan(tmp_path / "split", splits=splits))
    with pytest.raises(RunConflict, match="already holds the data sets test, train"):
        is_complete(make_plan(tmp_path / "split"))
    assert is_complete(make_plan(tmp_path / "split", splits=splits))
