"""Batches of pictures hold the frames and captions that a loop over rows and frames finds, whoever reads them."""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import torch

from tests.builders.toy import ToyFrames, damage, toy_captions, toy_colour, written
from vtr_core.config.data_sets import BatchConfig
from vtr_core.data.batches import picture_batch
from vtr_core.data.ingest.plan import IngestOptions
from vtr_core.data.manifest import Manifest
from vtr_core.data.plan import BatchPlan, Plan
from vtr_core.data.reading.row_groups import Columns, RowGroupReader, training_columns
from vtr_core.data.records.schema import require_frames
from vtr_core.data.shards import shard_file as writing
from vtr_core.data.shards.shard_file import DamagedShard, caption_key, usable
from vtr_core.data.shards.word_table import WordTable
from vtr_core.data.stream.assemble import assemble
from vtr_core.fingerprint import key64

MAX_FRAMES = 3
CLIPS_OF = (3, 1, 4, 2, 5, 2, 3)
BATCH = BatchConfig(videos=4, clips_per_video=2, window=2, max_frames=MAX_FRAMES)


def manifest_of(folder: Path, bad: frozenset[str] = frozenset()) -> Manifest:
    """Two videos or so in a row group, three in a shard."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(writing, "MAX_GROUP_ROWS", 6)
        return written(ToyFrames(CLIPS_OF, bad), folder, IngestOptions(videos_per_shard=3))[0]


def read(manifest: Manifest, batches: list[BatchPlan], skip: bool = False) -> list[Columns]:
    plan, reader = Plan(manifest, BATCH, seed=3), RowGroupReader(manifest, training_columns(manifest.schema))
    return list(assemble(reader, plan.row_groups, batches, 0, "skip" if skip else "fail", MAX_FRAMES))


def clips(manifest: Manifest, plan: Plan, batch: BatchPlan) -> Iterator[tuple[int, int]]:
    """Video and number of the clip of each planned row."""
    ids = RowGroupReader(manifest, ["clip_id"])
    names = [ids.read_arrow(place)["clip_id"].to_pylist() for place in plan.row_groups]
    for group, row in zip(batch.group, batch.row, strict=True):
        video, clip = names[group][row][1:].split(":")
        yield int(video), int(clip)


def evenly(count: int) -> list[int]:
    """Which of so many frames a batch takes."""
    return list(range(count)) if count <= MAX_FRAMES else [int(i * (count - 1) / (MAX_FRAMES - 1)) for i in range(3)]


def test_every_row_is_the_planned_clip_with_a_caption_of_it(tmp_path: Path) -> None:
    manifest = usable(manifest_of(tmp_path).uri, require_frames)
    plan, words = Plan(manifest, BATCH, seed=3), WordTable.load(manifest).vocabulary
    for number in range(2 * plan.windows_per_epoch):
        batches = plan.window(number)
        for batch, columns in zip(batches, read(manifest, batches), strict=True):
            planned = list(clips(manifest, plan, batch))
            assert batch.draws is not None
            pictures = picture_batch(columns, 8, 16)
            longest = max(min(c + 1, MAX_FRAMES) for _, c in planned)
            assert pictures.frames.shape == (8, longest, 3, 8, 16)
            assert pictures.frames.dtype == torch.uint8
            for i, (v, c) in enumerate(planned):
                taken = evenly(c + 1)
                colours = [toy_colour(v, c, t) for t in taken] + [(0, 0, 0)] * (longest - len(taken))
                assert pictures.mask[i].tolist() == [k < len(taken) for k in range(longest)]
                for k, colour in enumerate(colours):
                    expected = torch.tensor(colour)[:, None, None]
                    assert (pictures.frames[i, k].int() - expected).abs().max() <= 3
                texts = toy_captions(v)
                caption = texts[batch.draws.caption(i, len(texts))]
                assert columns["tokens"][i].tolist() == words.encode(caption, 20).tolist()
                assert columns["caption_key"][i] == caption_key(caption)
                assert (columns["clip_key"][i], columns["video_key"][i]) == (key64(f"v{v}:{c}"), key64(f"v{v}"))


def test_captions_of_a_clip_that_is_drawn_again_differ(tmp_path: Path) -> None:
    manifest = manifest_of(tmp_path)
    plan = Plan(manifest, BATCH, seed=3)
    shown = Counter[int]()
    for number in range(8):
        for columns in read(manifest, plan.window(number)):
            rows = columns["clip_key"] == key64("v1:0")  # the only clip of its video, with two captions
            if rows.any():
                shown[len(set(columns["caption_key"][rows].tolist()))] += 1
    assert list(shown) == [2]


@pytest.mark.parametrize("skip", [False, True])
@pytest.mark.parametrize("world", [2, 3])
def test_the_parts_of_all_workers_are_the_batch(world: int, skip: bool, tmp_path: Path) -> None:
    manifest = manifest_of(tmp_path, bad=frozenset({"v2:3", "v4:0", "v4:1"}) if skip else frozenset())
    plan = Plan(manifest, BATCH, seed=3)
    batches = [batch for number in range(4) for batch in plan.window(number)]
    parts = [read(manifest, [batch.part(rank, world) for batch in batches], skip) for rank in range(world)]
    for step, whole in enumerate(read(manifest, batches, skip)):
        for name in ("tokens", "caption_key", "clip_key", "video_key", "frames.kept"):
            np.testing.assert_array_equal(np.concatenate([part[step][name] for part in parts]), whole[name])
        rows = [row for part in parts for row in part[step]["frames"]]
        for row, expected in zip(rows, whole["frames"], strict=True):
            np.testing.assert_array_equal(row, expected[: len(row)])
            assert not expected[len(row) :].any()
        if skip:
            assert sum(part[step]["replaced"][:, 1].sum() for part in parts) == whole["replaced"][:, 1].sum()


def test_a_clip_with_a_bad_picture_gives_its_place_to_the_next_one(tmp_path: Path) -> None:
    good, bad = manifest_of(tmp_path / "good"), manifest_of(tmp_path / "bad", bad=frozenset({"v4:0", "v4:1"}))
    plan = Plan(good, BATCH, seed=3)
    batches = [batch for number in range(4) for batch in plan.window(number)]
    hits = 0
    for batch, before, after in zip(batches, read(good, batches), read(bad, batches, skip=True), strict=True):
        rows = np.isin(before["clip_key"], [key64("v4:0"), key64("v4:1")])
        assert after["replaced"][:, 1].sum() == rows.sum()
        assert set(after["replaced"][:, 0].tolist()) == set(batch.group[rows].tolist())
        assert (after["clip_key"][rows] == key64("v4:2")).all()
        np.testing.assert_array_equal(after["clip_key"][~rows], before["clip_key"][~rows])
        hits += rows.sum()
    assert hits
    with pytest.raises(DamagedShard, match=r"row group \d+, row \d+: a frame is no JPEG that can be decoded"):
        read(bad, batches)


def test_rows_of_a_damaged_last_row_group_stay_where_they_are_planned(tmp_path: Path) -> None:
    """The first row group replaces it, whose rows are read first."""
    good, bad = manifest_of(tmp_path / "good"), manifest_of(tmp_path / "bad")
    plan = Plan(good, BATCH, seed=3)
    batch = next(b for n in range(4) for b in plan.window(n) if len(b.groups) > 1)
    damage(bad, plan.row_groups[batch.groups[-1]], "tokens")
    (before,), (after,) = read(good, [batch]), read(bad, [batch], skip=True)
    hit = batch.group == batch.groups[-1]
    assert hit.any()
    for name in ("clip_key", "caption_key"):
        np.testing.assert_array_equal(after[name][~hit], before[name][~hit])
    parts = [read(bad, [batch.part(rank, 2)], skip=True)[0] for rank in range(2)]
    for name in ("clip_key", "caption_key"):
        np.testing.assert_array_equal(np.concatenate([part[name] for part in parts]), after[name])


def test_a_row_group_without_any_picture_is_an_error(tmp_path: Path) -> None:
    manifest = manifest_of(tmp_path, frozenset({f"v1:{c}" for c in range(1)} | {f"v0:{c}" for c in range(3)}))
    plan = Plan(manifest, BatchConfig(videos=len(CLIPS_OF), clips_per_video=1), seed=3)
    with pytest.raises(DamagedShard, match=r"a frame is no JPEG that can be decoded \(.*\); restore or rebuild it"):
        read(manifest, plan.window(0), skip=True)
