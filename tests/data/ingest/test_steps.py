"""A data set of steps gives back every frame, step and segment, and is not taken for one of another kind."""

from pathlib import Path

import pytest

from tests.builders.toy import toy_dataset, toy_videos
from tests.builders.toy_steps import SECONDS_OF, ToySteps, frames, steps, toy_steps
from vtr_core.data.manifest import Manifest
from vtr_core.data.plan import row_groups
from vtr_core.data.reading.row_groups import RowGroupReader
from vtr_core.data.reading.stored_rows import read_steps
from vtr_core.data.records.arrays import as_sequences
from vtr_core.data.records.schema import TOKEN_DTYPE, FeatureSpec, StepSchema, require_clips, require_steps
from vtr_core.data.shards.shard_file import usable
from vtr_core.data.shards.word_table import WordTable
from vtr_core.data.sources.source import ClipSource, Drops, StepSource, VideoEntry, VideoSource
from vtr_core.errors import DatasetError, SchemaMismatch


def test_kinds_of_sources_exclude_each_other() -> None:
    source = ToySteps()
    assert isinstance(source, StepSource)
    assert not isinstance(source, ClipSource | VideoSource)


def test_the_manifest_knows_the_kind(tmp_path: Path) -> None:
    written = toy_steps(tmp_path)
    manifest = Manifest.load(str(tmp_path))
    assert manifest.fingerprint == written.fingerprint
    assert manifest.schema == StepSchema((FeatureSpec("video", 3), FeatureSpec("audio", 2)), 20)
    assert (manifest.rows, manifest.videos, len(manifest.shards)) == (5, 5, 3)


def test_rows_come_back_whole(tmp_path: Path) -> None:
    manifest = toy_steps(tmp_path)
    found = {video.video_id: video for video in read_steps(manifest, manifest.schema.features)}
    assert set(found) == {f"v{v}" for v in range(5)}
    for v in range(5):
        video = found[f"v{v}"]
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


def test_a_video_that_cannot_be_used_leaves_a_count(tmp_path: Path) -> None:
    manifest = toy_steps(tmp_path, ToySteps(frozenset({3})))
    assert (manifest.rows, manifest.dropped) == (4, {"unreadable_file": 1})


def test_each_kind_says_what_it_is_for(tmp_path: Path) -> None:
    toy_steps(tmp_path / "steps")
    toy_dataset(tmp_path / "clips")
    toy_videos(tmp_path / "videos")
    assert usable(str(tmp_path / "steps"), require_steps).videos == 5
    with pytest.raises(SchemaMismatch, match=r"steps is steps/1.*read clips/1.*--task localization"):
        usable(str(tmp_path / "steps"), require_clips)
    for kind in ("clips", "videos"):
        with pytest.raises(SchemaMismatch, match=rf"{kind} is {kind}/1, localisation reads steps/1.*vtr ingest crosst"):
            usable(str(tmp_path / kind), require_steps)
    (tmp_path / "steps" / "part-00000.parquet").unlink()
    with pytest.raises(DatasetError, match="is missing though the manifest lists it"):
        usable(str(tmp_path / "steps"), require_steps)
