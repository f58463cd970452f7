"""Batches of whole videos, with vectors of captions."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from tests.builders.captioned import captioned_videos
from tests.builders.token_videos import DIM, text_vectors, token_videos
from tests.builders.toy import damage, toy_videos
from vtr_core.config.data_sets import BatchConfig
from vtr_core.data.batches import frame_batch
from vtr_core.data.manifest import Manifest
from vtr_core.data.plan import BatchPlan, Plan, row_groups
from vtr_core.data.reading.evaluated_rows import video_rows
from vtr_core.data.reading.row_groups import Columns, RowGroupReader, training_columns
from vtr_core.data.shards import shard_file as writing
from vtr_core.data.shards.shard_file import DamagedShard, caption_key
from vtr_core.data.shards.word_table import WordTable
from vtr_core.data.stream.assemble import assemble
from vtr_core.fingerprint import key64

FRAMES_OF = (3, 1, 4, 0, 5, 9, 2, 6, 5, 3, 5, 8, 9)
MAX_FRAMES = 4


@pytest.fixture
def manifest(tmp_path: Path) -> Iterator[Manifest]:
    """Two or three videos in a row group, five in a shard."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(writing, "MAX_GROUP_ROWS", 3)
        yield toy_videos(tmp_path / "d", FRAMES_OF, videos_per_shard=5)


def planned(manifest: Manifest, captions: int = 2) -> tuple[Plan, RowGroupReader]:
    batch = BatchConfig(videos=4, clips_per_video=captions, window=2, max_frames=MAX_FRAMES)
    return Plan(manifest, batch, seed=3), RowGroupReader(manifest, training_columns(manifest.schema))


def read(manifest: Manifest, batches: list[BatchPlan]) -> list[Columns]:
    plan, reader = planned(manifest)
    return list(assemble(reader, plan.row_groups, batches, max_frames=plan.max_frames))


def stored_frames(v: int) -> dict[str, list[list[float]]]:
    """All frames of a toy video, by feature."""
    audio = [[float(v)] * 2] * 2 if v % 3 == 0 else []
    return {"video": [[float(v), float(t), float(v + t)] for t in range(FRAMES_OF[v])], "audio": audio}


def test_every_row_is_the_planned_video_and_caption(manifest: Manifest) -> None:
    plan, _ = planned(manifest)
    words = WordTable.load(manifest).vocabulary
    ids = RowGroupReader(manifest, ["video_id"])
    names = [ids.read_arrow(place)["video_id"].to_pylist() for place in plan.row_groups]
    for number in range(3 * plan.windows_per_epoch):
        batches = plan.window(number)
        for batch, columns in zip(batches, read(manifest, batches), strict=True):
            videos = [int(names[g][r][1:]) for g, r in zip(batch.group, batch.row, strict=True)]
            assert columns["video_key"].tolist() == [key64(f"v{v}") for v in videos]
            assert columns["clip_key"].tolist() == columns["video_key"].tolist()
            for name, dim in (("video", 3), ("audio", 2)):
                every = [stored_frames(v)[name] for v in videos]
                longest = max(1, *(min(len(frames), MAX_FRAMES) for frames in every))
                assert columns[name].shape == (8, longest, dim)
                for i, frames in enumerate(every):
                    remaining = frames[:MAX_FRAMES]
                    assert columns[f"{name}.kept"][i] == len(remaining)
                    assert columns[name][i].tolist() == remaining + [[0.0] * dim] * (longest - len(remaining))
                    mean = np.mean(frames, axis=0) if frames else np.zeros(dim)
                    np.testing.assert_allclose(columns[f"{name}.mean"][i], mean, rtol=1e-6)
                assert (columns[name].dtype, columns[f"{name}.mean"].dtype) == (np.float16, np.float32)
            assert batch.draws is not None
            for i, v in enumerate(videos):
                caption = f"Caption number{batch.draws.caption(i, v + 1)} of video number{v}"
                assert columns["tokens"][i].tolist() == words.encode(caption, 20).tolist()
                assert columns["caption_key"][i] == caption_key(caption)


def test_a_video_without_captions_has_no_words_and_no_key(tmp_path: Path) -> None:
    said = {"silent": [], **{f"v{number}": ["a dog", "a cat"] for number in range(3)}}
    manifest = captioned_videos(tmp_path, said)
    plan = Plan(manifest, BatchConfig(videos=4, clips_per_video=2), seed=0)
    reader = RowGroupReader(manifest, training_columns(manifest.schema))
    (columns,) = assemble(reader, plan.row_groups, plan.window(0)[:1])
    silent = columns["video_key"] == key64("silent")
    assert silent.sum() == 2
    for name in ("tokens", "caption_key"):
        assert (columns[name].reshape(8, -1).any(axis=1) == ~silent).all()


def together(parts: list[np.ndarray]) -> np.ndarray:
    """The parts of all workers as one array, padded to the longest."""
    if parts[0].ndim < 3:
        return np.concatenate(parts)
    longest = max(part.shape[1] for part in parts)
    return np.concatenate([np.pad(part, ((0, 0), (0, longest - part.shape[1]), (0, 0))) for part in parts])


@pytest.mark.parametrize("world", [2, 3, 4])
def test_the_parts_of_all_workers_are_the_batch(manifest: Manifest, world: int) -> None:
    plan, _ = planned(manifest)
    batches = plan.window(1)
    parts = [read(manifest, [batch.part(rank, world) for batch in batches]) for rank in range(world)]
    for step, whole in enumerate(read(manifest, batches)):
        for name, values in whole.items():
            result = together([part[step][name] for part in parts])
            assert result.dtype == values.dtype
            np.testing.assert_array_equal(result, values)


def test_rows_of_a_damaged_row_group_are_replaced_whatever_the_number_of_workers(manifest: Manifest) -> None:
    plan, reader = planned(manifest)
    batches = plan.window(0)
    good = read(manifest, batches)
    bad, instead = batches[0].groups[:2]
    damage(manifest, plan.row_groups[bad])
    with pytest.raises(DamagedShard, match=rf"row group {plan.row_groups[bad].index}\) cannot be read"):
        read(manifest, batches)
    replacing = RowGroupReader(manifest, ["video_key"]).read(plan.row_groups[instead])["video_key"]
    whole = list(assemble(reader, plan.row_groups, batches, 0, "skip", MAX_FRAMES))
    for batch, before, after in zip(batches, good, whole, strict=True):
        hit = batch.group == bad
        assert after["replaced"].tolist() == ([[bad, hit.sum()]] if hit.any() else [])
        np.testing.assert_array_equal(after["video_key"][~hit], before["video_key"][~hit])
        np.testing.assert_array_equal(after["caption_key"][~hit], before["caption_key"][~hit])
        if batch is batches[0]:
            assert hit.any()
            assert after["video_key"][hit].tolist() == replacing[batch.row[hit] % len(replacing)].tolist()
    for world in (2, 3):
        parts = [
            list(assemble(reader, plan.row_groups, [b.part(rank, world) for b in batches], 0, "skip", MAX_FRAMES))
            for rank in range(world)
        ]
        for step, batch in enumerate(whole):
            for name in ("video", "video.mean", "caption_key", "tokens"):
                np.testing.assert_array_equal(together([part[step][name] for part in parts]), batch[name])
            assert sum(part[step]["replaced"][:, 1].sum() for part in parts) == batch["replaced"][:, 1].sum()


def test_a_training_row_has_the_vector_of_its_caption(tmp_path: Path) -> None:
    """However few frames are kept."""
    data = token_videos(tmp_path / "d")
    plan = Plan(data, BatchConfig(videos=4, clips_per_video=2, window=2, max_frames=1), seed=1)
    reader = RowGroupReader(data, training_columns(data.schema))
    expected = {
        (key64(f"v{v}"), caption_key(f"Caption number{c} of video number{v}")): vector
        for v in range(12)
        for c, vector in enumerate(text_vectors(v))
    }
    shown = set()
    for number in range(4 * plan.windows_per_epoch):
        for columns in assemble(reader, plan.row_groups, plan.window(number), max_frames=1):
            batch = frame_batch(columns, ["video", "text"])
            assert (batch.frames["text"].shape, batch.mask["text"].all()) == ((8, 1, DIM), True)
            for row, key in enumerate(zip(batch.video_key.tolist(), batch.caption_key.tolist(), strict=True)):
                np.testing.assert_array_equal(batch.frames["text"][row, 0], expected[key])
                np.testing.assert_allclose(batch.mean["text"][row], expected[key].astype(np.float32))
                shown.add(key)
    assert len(shown) > 15


@pytest.mark.parametrize("max_videos", [1, 2, 128])
def test_evaluation_reads_one_for_each_caption(max_videos: int, tmp_path: Path) -> None:
    data = token_videos(tmp_path / "d", blind=[4])
    by_name = {}
    for rows in video_rows(data, row_groups(data), 2, max_videos):
        assert rows.caption_vectors is not None
        assert "text" not in rows.frames
        for row, video in enumerate(rows.video_id):
            by_name[video] = rows.caption_vectors[np.flatnonzero(rows.caption_video == row)].numpy()
    assert len(by_name) == 12
    for v in range(12):
        np.testing.assert_array_equal(by_name[f"v{v}"], text_vectors(v))
