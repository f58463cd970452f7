"""What Ray Data delivers is what the plan says, for any number of workers and from any step."""

import shutil
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import numpy as np
import pytest

from tests.builders.toy import ToyFrames, toy_videos, written
from vtr_core.config.data_sets import BatchConfig, OnBadShard
from vtr_core.data.ingest.plan import IngestOptions
from vtr_core.data.manifest import Manifest
from vtr_core.data.plan import Part, Plan, RowGroup
from vtr_core.data.reading.row_groups import Columns, RowGroupReader, training_columns
from vtr_core.data.shards import shard_file as writing
from vtr_core.data.shards.shard_file import DamagedShard
from vtr_core.data.stream import reading
from vtr_core.data.stream.assemble import assemble
from vtr_core.data.stream.reading import stream

pytestmark = [pytest.mark.integration, pytest.mark.usefixtures("local_ray")]
STEPS = 11
MAX_FRAMES = 5


@pytest.fixture(scope="module")
def manifest(world: Path) -> Manifest:
    return Manifest.load(str(world / "train"))


def planned(manifest: Manifest) -> tuple[Plan, RowGroupReader]:
    plan = Plan(manifest, BatchConfig(videos=16, clips_per_video=3, window=2, max_frames=MAX_FRAMES), seed=5)
    return plan, RowGroupReader(manifest, training_columns(manifest.schema))


def expected(manifest: Manifest) -> list[Columns]:
    """The batches of the first steps, read in this process."""
    plan, reader = planned(manifest)
    batches = [batch for number in range(STEPS) for batch in plan.window(number)][:STEPS]
    return list(assemble(reader, plan.row_groups, batches, max_frames=plan.max_frames))


def streamed(manifest: Manifest, part: Part, first_step: int) -> list[Columns]:
    plan, reader = planned(manifest)
    return list(islice(stream(reader, plan, part, first_step), STEPS - first_step))


@pytest.fixture(scope="module")
def videos(tmp_path_factory: pytest.TempPathFactory) -> Manifest:
    """Whole videos with frames, some more than are kept, some without; two features."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(writing, "MAX_GROUP_ROWS", 7)
        frames_of = [(5 * v) % 9 for v in range(60)]
        return toy_videos(tmp_path_factory.mktemp("videos"), frames_of, videos_per_shard=20)


@pytest.fixture(scope="module")
def frames(tmp_path_factory: pytest.TempPathFactory) -> Manifest:
    """Clips with pictures, which the reading tasks decode."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(writing, "MAX_GROUP_ROWS", 12)
        source = ToyFrames([1 + v % 7 for v in range(40)])
        return written(source, tmp_path_factory.mktemp("frames"), IngestOptions(videos_per_shard=15))[0]


@pytest.mark.parametrize(("kind", "world_size", "first_step"), [("manifest", 3, 7), ("videos", 2, 3), ("frames", 2, 7)])
def test_the_stream_is_the_plan(kind: str, world_size: int, first_step: int, request: pytest.FixtureRequest) -> None:
    manifest = request.getfixturevalue(kind)
    whole = expected(manifest)
    parts = [streamed(manifest, Part(rank, world_size), first_step) for rank in range(world_size)]
    for offset, of_all in enumerate(zip(*parts, strict=True)):
        step = first_step + offset
        assert {int(batch["step"][0]) for batch in of_all} == {step}
        for name, values in whole[step].items():
            found = together([batch[name] for batch in of_all])
            assert found.dtype == values.dtype
            np.testing.assert_array_equal(found, values)
    if kind == "videos":
        assert max(batch["video"].shape[1] for batch in parts[1]) == MAX_FRAMES


def together(parts: list[np.ndarray]) -> np.ndarray:
    """The parts of all workers as one array; frames are padded to the longest."""
    if parts[0].ndim < 3:
        return np.concatenate(parts)
    longest = max(part.shape[1] for part in parts)
    return np.concatenate([np.pad(part, ((0, 0), (0, longest - part.shape[1]), (0, 0))) for part in parts])


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
    with pytest.raises(DamagedShard, match=rf"^\S+{place} cannot be read: could not verify page integrity") as caught:
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


def test_a_damaged_shard_of_videos_is_replaced_and_reported(videos: Manifest, tmp_path: Path) -> None:
    shutil.copytree(videos.location.path, tmp_path / "damaged")
    manifest = Manifest.load(str(tmp_path / "damaged"))
    path = tmp_path / "damaged" / manifest.shards[0].file
    keys = RowGroupReader(manifest, ["video_key"]).read(RowGroup(0, 0))["video_key"]
    content = bytearray(path.read_bytes())
    content[content.index(keys.tobytes())] ^= 1
    path.write_bytes(content)
    plan, reader = planned(manifest)
    batches = [batch for number in range(STEPS) for batch in plan.window(number)][:STEPS]
    expected = list(assemble(reader, plan.row_groups, batches, 0, "skip", plan.max_frames))
    parts = [list(islice(streamed_from(manifest, Part(rank, 2), "skip"), STEPS)) for rank in range(2)]
    for step, whole in enumerate(expected):
        for name in ("video_key", "caption_key", "video", "audio.mean"):
            np.testing.assert_array_equal(together([part[step][name] for part in parts]), whole[name])
        assert sum(part[step]["replaced"][:, 1].sum() for part in parts) == whole["replaced"][:, 1].sum()
    assert any(len(whole["replaced"]) for whole in expected)
