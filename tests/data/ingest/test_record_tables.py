"""Rows of videos and steps as stored, with the tokens of their captions."""

from pathlib import Path

import numpy as np
import pytest

from tests.builders.toy import ToyVideos, toy_videos, written
from tests.builders.toy_steps import SECONDS_OF, ToySteps, frames, steps, toy_steps
from vtr_core.data.ingest.ingest import begin, do, finish
from vtr_core.data.ingest.plan import IngestOptions, plan_ingest
from vtr_core.data.ingest.record_tables import caption_tokens
from vtr_core.data.manifest import Manifest
from vtr_core.data.plan import RowGroup, row_groups
from vtr_core.data.reading.row_groups import RowGroupReader
from vtr_core.data.reading.stored_rows import read_steps
from vtr_core.data.records.arrays import as_sequences, pad
from vtr_core.data.records.schema import FEATURE_DTYPE, TOKEN_DTYPE
from vtr_core.data.shards import shard_file as writing
from vtr_core.data.shards.shard_file import caption_key
from vtr_core.data.shards.word_table import WordTable
from vtr_core.data.sources.source import Drops, VideoEntry
from vtr_core.errors import InputError
from vtr_core.fingerprint import key64
from vtr_core.storage import locate
from vtr_core.text.tokens.vocabulary import Vocabulary

FRAMES_OF = (3, 1, 4, 0, 5)


def places(manifest: Manifest) -> list[RowGroup]:
    return [RowGroup(s, g) for s, shard in enumerate(manifest.shards) for g in range(len(shard.row_groups))]


def test_rows_hold_frames_captions_and_tokens(tmp_path: Path) -> None:
    manifest = toy_videos(tmp_path / "d", FRAMES_OF)
    vocabulary = WordTable.load(manifest).vocabulary
    reader = RowGroupReader(manifest, manifest.schema.arrow().names)
    shown = set()
    for place in places(manifest):
        columns = reader.read_arrow(place)
        frames, audio = (
            pad(as_sequences(columns[name], dim, FEATURE_DTYPE), slice(None), 9)
            for name, dim in (("video", 3), ("audio", 2))
        )
        assert frames.mask.sum(axis=1).tolist() == columns["num_video"].to_pylist()
        assert audio.mask.sum(axis=1).tolist() == columns["num_audio"].to_pylist()
        tokens = as_sequences(columns["tokens"], 20, TOKEN_DTYPE)
        captions = columns["captions"].to_pylist()
        assert tokens.counts.tolist() == [len(texts) for texts in captions]
        encoded = [vocabulary.encode(text, 20) for texts in captions for text in texts]
        assert tokens.vectors.tolist() == np.stack(encoded).tolist()
        keys = [[caption_key(text) for text in texts] for texts in captions]
        assert columns["caption_keys"].to_pylist() == keys
        for row, name in enumerate(columns["video_id"].to_pylist()):
            v = int(name[1:])
            expected = [[v, t, v + t] for t in range(FRAMES_OF[v])]
            assert frames.values[row][frames.mask[row]].tolist() == expected
            assert audio.values[row][audio.mask[row]].tolist() == ([[v, v], [v, v]] if v % 3 == 0 else [])
            assert captions[row] == [f"Caption number{c} of video number{v}" for c in range(v + 1)]
            assert columns["video_key"][row].as_py() == key64(name)
            shown.add(v)
    assert shown == set(range(5))


def test_row_groups_are_bounded_in_bytes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(writing, "MAX_GROUP_BYTES", 60)  # a frame takes 6 bytes
    (manifest,) = written(ToyVideos((4, 4, 4, 9, 30)), tmp_path / "d", IngestOptions(videos_per_shard=9))
    groups = []
    for place in places(manifest):
        columns = RowGroupReader(manifest, ["num_video", "num_audio"]).read_arrow(place)
        groups.append(6 * np.array(columns["num_video"]) + 4 * np.array(columns["num_audio"]))
    assert [len(group) for group in groups] == list(map(len, manifest.shards[0].row_groups))
    assert len(groups) > 2
    assert all(len(group) == 1 or group.sum() <= 60 for group in groups)


def test_a_video_that_cannot_be_used_leaves_a_count(tmp_path: Path) -> None:
    plan = plan_ingest(ToyVideos(fail_at=frozenset({2})), locate(str(tmp_path)), None, IngestOptions())
    for task in begin(plan):
        do(plan, task)
    (manifest,) = finish(plan).manifests
    assert (manifest.rows, manifest.dropped) == (4, {"unreadable_file": 1})
    with pytest.raises(InputError, match="v2 cannot be read"):
        written(ToyVideos(fail_at=frozenset({2})), tmp_path / "strict", IngestOptions(strict=True))


def test_rows_come_back_whole(tmp_path: Path) -> None:
    manifest = toy_steps(tmp_path)
    videos = {video.video_id: video for video in read_steps(manifest, manifest.schema.features)}
    assert set(videos) == {f"v{v}" for v in range(5)}
    for v in range(5):
        video = videos[f"v{v}"]
        expected = ToySteps().step_video(VideoEntry("", v), Drops())
        assert expected is not None
        assert (video.task, list(video.steps), list(video.labels)) == (f"task{v % 2}", steps(v), expected.labels)
        assert list(video.segments) == expected.segments
        assert video.features["video"].tolist() == frames(v).tolist()
        assert video.features["audio"].tolist() == ([[v, v], [v, v]] if v % 3 == 0 else [])
    assert [set(v.features) for v in read_steps(manifest, manifest.schema.features[:1])] == [{"video"}] * 5


def test_tokens_are_those_of_the_steps(tmp_path: Path) -> None:
    manifest = toy_steps(tmp_path)
    vocabulary = WordTable.load(manifest).vocabulary
    reader = RowGroupReader(manifest, ["steps", "tokens", "num_video"])
    for place in row_groups(manifest):
        columns = reader.read_arrow(place)
        tokens = as_sequences(columns["tokens"], 20, TOKEN_DTYPE)
        texts = columns["steps"].to_pylist()
        assert tokens.counts.tolist() == list(map(len, texts))
        assert tokens.vectors.tolist() == [vocabulary.encode(t, 20).tolist() for row in texts for t in row]
        assert columns["num_video"].to_pylist() == [SECONDS_OF[len(row) - 1] for row in texts]


def test_cut_captions_are_counted_and_unknown_words_are_not() -> None:
    words, drops = Vocabulary(("a", "b")), Drops(strict=True)
    tokens = caption_tokens(["a b a", "a x y z b", "b", ""], words, 2, drops)
    assert tokens.tolist() == [[1, 2], [1, 2], [2, 0], [0, 0]]
    assert tokens.dtype == np.int32
    assert (drops.shortened, dict(drops.counts)) == (1, {})
    assert caption_tokens([], words, 2, drops).shape == (0, 2)
