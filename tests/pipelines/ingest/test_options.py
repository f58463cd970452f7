"""Flags and presets together say how captions become words."""

from dataclasses import replace
from pathlib import Path

import pytest

from pipelines.ingest.command import ingest
from pipelines.ingest.ingest_options import IngestFlags, counted_words, given_words, ingest_options
from tests.builders.captioned import CaptionedVideos
from tests.builders.toy import written
from vtr_core.data.ingest.ingest import begin
from vtr_core.data.ingest.plan import IngestOptions, plan_ingest
from vtr_core.data.sources.source import Drops
from vtr_core.data.sources.synthetic import Synthetic
from vtr_core.errors import ConfigError, InputError, RunConflict
from vtr_core.storage import locate


def test_a_preset_brings_its_words_and_its_uncut_captions() -> None:
    options = ingest_options(IngestFlags(out="d", preset="hybrid-msrvtt-published"))
    assert options == IngestOptions(max_words=None, min_count=5, tokenizer="alphanumeric", unknown="token")


PRESET = {"preset": "hybrid-msrvtt-published"}


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        ({**PRESET, "min_count": 2}, "asks for min_count = 5, not 2"),
        ({**PRESET, "max_words": 20}, "asks for uncut = True, not False"),
        ({**PRESET, "tokenizer": "words"}, "asks for tokenizer = alphanumeric, not words"),
        ({"max_words": 0}, "--max-words is 0; it must be from 1 to 4096, or longest"),
        ({"videos_per_shard": 0}, "--videos-per-shard is 0; it must be 1 or more"),
        ({"min_count": -3}, "--min-count is -3; it must be 1 or more"),
        ({"split_seed": -1}, "--split-seed is -1; it must be 0 or more"),
    ],
)
def test_flags_that_contradict_the_preset_or_can_only_be_wrong(flags: dict[str, object], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        ingest_options(IngestFlags(out="d", **flags))  # type: ignore[arg-type]


def test_captions_are_as_long_as_those_of_the_vocabulary_s_data_set(tmp_path: Path) -> None:
    first = written(CaptionedVideos({"a": ["a dog runs", "a cat"]}), tmp_path / "first", IngestOptions(max_words=7))[0]
    flags = IngestFlags(out="d", vocabulary=first.uri, preset="hybrid-msrvtt-published")
    assert ingest_options(flags).max_words == 7
    assert ingest_options(replace(flags, max_words="longest")).max_words is None


def test_without_workers_no_ray_is_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("pipelines.ingest.ingest_options.VIDEOS_AT_ONCE", 1)
    monkeypatch.setattr("pipelines.ray_session.begin_reading", lambda *_, **__: pytest.fail("Ray was asked"))
    flags = IngestFlags(out=str(tmp_path / "d"), videos_per_shard=5, workers=0)
    manifests = ingest(Synthetic(num_clips=60), flags).manifests
    assert [len(item.shards) for item in manifests] == [2, 1]
    assert "complete" not in capsys.readouterr().out
    assert ingest(Synthetic(num_clips=60), flags).manifests == manifests
    assert "complete: the same videos, words and settings. Captions and features are not" in capsys.readouterr().out


def test_a_share_that_no_video_fell_into_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source = CaptionedVideos({"a": ["a dog runs"], "b": ["a cat"]})
    flags = IngestFlags(out=str(tmp_path / "d"), splits={"train": 0.98, "val": 0.01, "test": 0.01}, workers=0)
    ingest(source, flags)
    assert "no data set val, test: none of the 2 videos fell into that share of --splits" in capsys.readouterr().out
    ingest(source, replace(flags, out=str(tmp_path / "e"), splits={"train": 0.5, "val": 0.5}))
    assert "no data set" not in capsys.readouterr().out


def test_a_refused_ingest_changes_nothing(tmp_path: Path) -> None:
    source = CaptionedVideos({name: ["a dog runs"] for name in "abcdefgh"})
    flags = IngestFlags(out=str(tmp_path), splits={"train": 0.5, "test": 0.5}, workers=0)
    plan = plan_ingest(source, locate(flags.out), None, ingest_options(flags))
    begin(plan)
    (tmp_path / "train").mkdir()
    (tmp_path / "train" / "part-00000.parquet").write_bytes(b"the shard of an ingest that still runs")
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(RunConflict, match="interrupted ingest with other settings"):
        ingest(source, replace(flags, splits={}))
    assert sorted(tmp_path.rglob("*")) == before


def test_a_published_preset_asks_for_word_vectors() -> None:
    """Without them words would be trained from U(±0.1), and nothing would say so."""
    flags = IngestFlags(out="d", preset="hybrid-msrvtt-published")
    with pytest.raises(ConfigError, match="asks for word vectors, as the published code has: give --word-vectors FILE"):
        given_words(flags)
    assert given_words(replace(flags, word_vectors="vectors.bin")) is None


def test_words_of_further_captions_count_for_the_vocabulary(tmp_path: Path) -> None:
    first = CaptionedVideos({"v0": ["a dog runs"]})
    (tmp_path / "more.tsv").write_text("https://x/y.gif\ta red dog\nhttps://x/z.gif\ta ball\n")
    flags = IngestFlags(out="d", more_captions=(str(tmp_path / "more.tsv"),), workers=0)
    counts = counted_words(flags, first, first.videos(Drops()), "words", None)
    assert counts == {"a": 3, "dog": 2, "runs": 1, "red": 1, "ball": 1}
    with pytest.raises(InputError, match=r"there is no file .*none\.tsv; give a text file"):
        counted_words(replace(flags, more_captions=("none.tsv",)), first, first.videos(Drops()), "words", None)
