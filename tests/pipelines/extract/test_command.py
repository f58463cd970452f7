"""Video files and captions become shards: whichever way they are given, resumed, counted, alike by any workers."""

import json
import os
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest

from pipelines.cli import run
from pipelines.extract import command
from pipelines.extract.command import ExtractFlags, extract
from tests.builders.small_videos import grey_video
from vtr_core.data.manifest import Manifest
from vtr_core.data.records.arrays import as_rows, as_sequences
from vtr_core.data.sources.features.feature_arrays import rows_per_second
from vtr_core.data.sources.source import KEPT
from vtr_core.errors import CheckpointError, ConfigError, DatasetError, InputError, RunConflict
from vtr_core.extraction import on_ray
from vtr_core.extraction import outputs as in_process
from vtr_core.extraction.features import Extracted

TIMES = [k / 5 for k in range(13)]
ODD = 'it\'s a "film", 100% of it.mkv'


@pytest.fixture(scope="module")
def films(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three films that can be used, the last one silent, and files that cannot."""
    folder = tmp_path_factory.mktemp("films")
    grey_video(folder / "one.mp4", TIMES, sound_s=2.5)
    grey_video(folder / ODD, TIMES[:8], (48, 64), sound_s=1.5)
    (folder / "below").mkdir()
    grey_video(folder / "below" / "silent.mp4", TIMES[:6])
    (folder / "empty.mp4").touch()
    (folder / "text.mp4").write_text("no video")
    (folder / "cut.mp4").write_bytes((folder / "one.mp4").read_bytes()[:700])
    return folder


def table(folder: Path, *rows: tuple[str, ...], name: str = "captions.jsonl") -> str:
    """A caption table of (id, caption, video, start, end, split) rows, whose last cells may be missing."""
    names = ("id", "caption", "video", "start", "end", "split")
    lines = [json.dumps(dict(zip(names, row, strict=False))) for row in rows]
    (folder / name).write_text("\n".join(lines))
    return str(folder / name)


GOOD = (("a", "a grey film", "one.mp4"), ("b", "an odd film", ODD), ("c", "a silent film", "below/silent"))
BAD = (
    ("d", "nothing", "empty.mp4"),
    ("e", "words", "text.mp4"),
    ("f", "half a film", "cut.mp4"),
    ("g", "gone", "gone.mp4"),
    ("h", "outside", "/etc/passwd"),
    ("i", "outside", "../one.mp4"),
    ("j", "too late", "one.mp4", "90", "95"),
    ("k", "", "one.mp4"),
)
REASONS = {"not_a_video": 3, "missing_file": 1, "outside_features": 1}


def flags(films: Path, captions: str, out: Path, **changes: object) -> ExtractFlags:
    return ExtractFlags(str(films), str(out), captions, workers=0, **changes)  # type: ignore[arg-type]


def test_clips_with_their_features_and_every_drop_counted(films: Path, tmp_path: Path) -> None:
    captions = table(tmp_path, *GOOD, *BAD)
    result = extract(flags(films, captions, tmp_path / "data"))
    (manifest,) = result.manifests
    assert manifest == replace(Manifest.load(str(tmp_path / "data")), uri=manifest.uri)
    assert manifest.dropped == REASONS
    assert result.drops.counts == {**REASONS, "unsafe_id": 2, "empty_caption": 1}
    assert [(f.name, f.dim) for f in manifest.schema.features] == [("video", 2560), ("audio", 160)]
    rows = {row["clip_id"]: row for row in pq.read_table(tmp_path / "data" / "part-00000.parquet").to_pylist()}
    assert {name: (row["has_video"], row["has_audio"]) for name, row in rows.items()} == {
        "a": (True, True),
        "b": (True, True),
        "c": (True, False),
    }
    assert rows["a"]["end"] == pytest.approx(2.6, abs=0.1)
    assert np.linalg.norm(np.frombuffer(rows["b"]["video"], np.float16).astype(float)) == pytest.approx(1, abs=1e-2)
    recipes = manifest.source["recipes"]
    assert [item["name"] for item in recipes] == ["imagenet-lite", "log-mel"]
    assert recipes[0]["weights"].startswith("57934424")


def test_a_clip_is_the_mean_and_deviation_of_what_is_shown_in_it(films: Path, tmp_path: Path) -> None:
    captions = table(tmp_path, ("a", "the middle", "one.mp4", "1.0", "1.9"), ("b", "all", "one.mp4"))
    options = {"recipe": ("log-mel",), "normalise": False}
    extract(flags(films, captions, tmp_path / "data", **options))
    words = [str(films), "--features-only", "--out", str(tmp_path / "f"), "--recipe", "log-mel", "--workers", "0"]
    run("extract", words)
    rows = np.load(tmp_path / "f" / "log-mel" / "one.npy").astype(float)
    held = pq.read_table(tmp_path / "data" / "part-00000.parquet")
    vectors = as_rows(held["audio"].combine_chunks(), np.dtype(np.float16)).astype(float)
    expected = [rows[1:2], rows]
    for vector, part in zip(vectors, expected, strict=True):
        assert vector == pytest.approx(np.concatenate([part.mean(axis=0), part.std(axis=0)]), rel=2e-3, abs=1e-2)


def test_whole_videos_keep_all_rows(films: Path, tmp_path: Path) -> None:
    captions = table(tmp_path, *GOOD, ("d", "the same film", "one.mp4"), ("e", "of times", ODD, "0", "1"))
    result = extract(flags(films, captions, tmp_path / "data", records="videos"))
    rows = pq.read_table(tmp_path / "data" / "part-00000.parquet").to_pylist()
    counts = {row["video_id"]: (len(row["captions"]), row["num_video"], row["num_audio"]) for row in rows}
    assert counts == {"one": (2, 3, 3), "below/silent": (1, 1, 0)}
    assert result.drops.counts == {"bad_time": 2}
    held = pq.read_table(tmp_path / "data" / "part-00000.parquet")
    assert as_sequences(held["video"].combine_chunks(), 1280, np.dtype(np.float16)).counts.sum() == 4


@pytest.mark.parametrize("kind", ["list", "table", "anywhere"])
def test_videos_are_given_in_several_ways(kind: str, films: Path, tmp_path: Path) -> None:
    videos, name = str(films), "one.mp4"
    match kind:
        case "list":
            (films / "list.txt").write_text("one.mp4\nbelow/silent.mp4\n")
            videos = f"{films}/list.txt"
        case "table":
            (films / "list.csv").write_text("video\none.mp4\n")
            videos = f"{films}/list.csv"
        case "anywhere":
            videos, name = str(tmp_path), str(films / "one.mp4")
    captions = table(tmp_path, ("a", "a film", name), ("b", "not there", "two.mp4"))
    settings = ExtractFlags(videos, str(tmp_path / "data"), captions, ("log-mel",), anywhere=kind != "list", workers=0)
    (manifest,) = extract(settings).manifests
    assert manifest.rows == 1


def test_subtitles_beside_videos(films: Path, tmp_path: Path) -> None:
    grey_video(tmp_path / "s.mp4", TIMES, sound_s=2.5)
    grey_video(tmp_path / "v.mp4", TIMES, sound_s=2.5)
    grey_video(tmp_path / "n.mp4", TIMES[:2])
    (tmp_path / "s.srt").write_text("1\n00:00:00,000 --> 00:00:01,200\n<i>first</i> words\n\n2\nno times\nx\n")
    (tmp_path / "v.vtt").write_text(
        "WEBVTT\n\nNOTE nothing\n\nx\n00:00.500 --> 00:02.000 align:start\n<v Anna>Tom &amp; Ann\nspeak\n"
    )
    result = extract(ExtractFlags(str(tmp_path), str(tmp_path / "data"), "subtitles", ("log-mel",), workers=0))
    rows = pq.read_table(tmp_path / "data" / "part-00000.parquet").to_pylist()
    assert sorted((row["clip_id"], row["start"], row["end"], row["caption"]) for row in rows) == [
        ("s/00001", 0.0, 1.2, "first words"),
        ("v/00001", 0.5, 2.0, "Tom & Ann speak"),
    ]
    assert result.drops.counts == {"missing_file": 1, "bad_line": 1}


def test_msrvtt_from_its_videos(films: Path, tmp_path: Path) -> None:
    """Test videos that are not there stay as queries; others are dropped, and captions may be alike."""
    videos = [("one", "train"), ("gone", "train"), ("silent", "test"), ("lost", "test")]
    content = {
        "videos": [{"video_id": v, "split": s, "start time": 0.0, "end time": 2.0} for v, s in videos],
        "sentences": [{"video_id": v, "caption": "a grey film"} for v, _ in videos for _ in range(2)],
    }
    (tmp_path / "train_val_videodatainfo.json").write_text(json.dumps(content))
    options = flags(films, "msrvtt", tmp_path / "data", annotations=str(tmp_path), recipe=("imagenet-lite",))
    result = extract(options)
    assert {Path(manifest.uri).name: manifest.rows for manifest in result.manifests} == {"test": 4, "train": 2}
    assert result.drops.counts == {"missing_file": 2, KEPT: 2}
    rows = pq.read_table(tmp_path / "data" / "test" / "part-00000.parquet").to_pylist()
    assert sorted((row["clip_id"], row["has_video"]) for row in rows) == [("lost", False)] * 2 + [("silent", True)] * 2
    with pytest.raises(
        ConfigError, match="--annotations goes with --captions msrvtt, msrvtt-1k-a, msvd, didemo, activitynet"
    ):
        extract(replace(options, annotations=None))


def test_clips_of_youcook2_and_howto100m_from_their_videos(films: Path, tmp_path: Path) -> None:
    lines = ["video_id,start,end,text", "one,0,1,grey", "one,1,2,still grey", "gone,0,1,nothing", "one,5,4,bad"]
    (tmp_path / "a.csv").write_text("\n".join(lines))
    options = {"annotations": str(tmp_path / "a.csv"), "recipe": ("log-mel",)}
    test = extract(flags(films, "youcook2", tmp_path / "test", **options))
    assert [(manifest.rows, Path(manifest.uri).name) for manifest in test.manifests] == [(3, "test")]
    assert test.drops.counts == {KEPT: 1, "end_before_start": 1}
    train = extract(flags(films, "howto100m", tmp_path / "train", **options))
    rows = pq.read_table(tmp_path / "train" / "part-00000.parquet").to_pylist()
    assert [(row["clip_id"], row["caption"]) for row in rows] == [("one:0.0-2.0", "grey still grey")]
    assert train.drops.counts == {"missing_file": 1, "end_before_start": 1}


def test_an_interrupted_extraction_goes_on(films: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What was written stays, the rest is done once, and the data set is that of an extraction in one go."""
    captions = table(tmp_path, *GOOD)
    options = {"recipe": ("imagenet-lite",), "videos_per_shard": 1}
    whole = extract(flags(films, captions, tmp_path / "whole", **options))
    requested: list[int] = []
    real = in_process.extract_here

    def stopping(uris: Sequence[str], **settings: Any) -> Iterator[tuple[int, Extracted]]:
        requested.append(len(uris))
        for done, result in enumerate(real(uris, **{**settings, "at_once": 1})):
            if done == 2 and len(requested) == 1:
                raise KeyboardInterrupt
            yield result

    monkeypatch.setattr(in_process, "extract_here", stopping)
    command = flags(films, captions, tmp_path / "data", **options)
    with pytest.raises(KeyboardInterrupt):
        extract(command)
    assert not (tmp_path / "data" / "manifest.json").exists()
    resumed = extract(command)
    assert requested == [3, 1]
    assert [found.fingerprint for found in resumed.manifests] == [found.fingerprint for found in whole.manifests]


def test_nothing_usable_is_an_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "bad").mkdir()
    (tmp_path / "bad" / "empty.mp4").touch()
    (tmp_path / "bad" / "text.mp4").write_text("no video")
    words = [str(tmp_path / "bad"), "--features-only", "--out", str(tmp_path / "f"), "--workers", "0"]
    words += ["--recipe", "log-mel"]
    for _ in range(2):
        with pytest.raises(DatasetError, match=r"bad gives no usable video: all 2 were dropped$"):
            run("extract", words)
        assert "dropped 2 × not_a_video" in capsys.readouterr().out


def test_features_alone(films: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = [str(films), "--features-only", "--out", str(tmp_path / "f"), "--recipe", "log-mel", "--workers", "0"]
    run("extract", words)
    output = capsys.readouterr().out
    assert "dropped 3 × not_a_video" in output
    assert "dropped 1 × no_sound" in output
    files = sorted(str(file.relative_to(tmp_path / "f")) for file in (tmp_path / "f").rglob("*.npy"))
    assert files == ['log-mel/it\'s a "film", 100% of it.npy', "log-mel/one.npy"]
    assert np.load(tmp_path / "f" / "log-mel" / "one.npy").shape == (3, 80)
    folder = str(tmp_path / "f" / "log-mel")
    assert rows_per_second(folder, None, "3d", "--fps-3d") == 1.0  # as recorded, and not the published 1.5
    with pytest.raises(InputError, match="says 1 rows a second; leave the flag out"):
        rows_per_second(folder, 6.25, "audio", "--fps-audio")
    before = (tmp_path / "f" / "log-mel" / "one.npy").stat().st_mtime_ns
    run("extract", words)
    assert (tmp_path / "f" / "log-mel" / "one.npy").stat().st_mtime_ns == before
    with pytest.raises(RunConflict, match="of other recipes or weights"):
        run("extract", [*words[:-4], "--recipe", "imagenet-lite", "--workers", "0"])


@pytest.mark.linux
def test_a_name_that_no_video_can_have_is_beside_those_that_are_usable(
    films: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """As many are left out as there are files, and none of these is dropped."""
    (tmp_path / "v").mkdir()
    shutil.copy(films / "one.mp4", tmp_path / "v")
    os.link(films / "one.mp4", os.fsencode(tmp_path / "v") + b"/x\xff.mp4")
    words = [str(tmp_path / "v"), "--features-only", "--out", str(tmp_path / "f"), "--workers", "0"]
    run("extract", [*words, "--recipe", "log-mel"])
    output = capsys.readouterr().out
    assert ".npy files of 1 videos" in output
    assert "dropped 1 × unreadable_file" in output


def test_frames_and_sound_of_joined_files_are_equally_long_and_odd_times_are_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "v").mkdir()
    part = grey_video(tmp_path / "a.ts", [k / 5 for k in range(25)], sound_s=5.0, frame_rate=5)
    (tmp_path / "v" / "joined.ts").write_bytes(2 * part.read_bytes())
    grey_video(tmp_path / "v" / "apart.mp4", [0.0, 0.5], sound_s=4.0)
    words = [str(tmp_path / "v"), "--features-only", "--out", str(tmp_path / "f"), "--workers", "0"]
    run("extract", [*words, "--recipe", "imagenet-lite", "log-mel"])
    lengths = {file.parent.name: len(np.load(file)) for file in tmp_path.glob("f/*/joined.npy")}
    assert lengths == {"imagenet-lite": 10, "log-mel": 10}
    printed = capsys.readouterr().out
    assert "videos with times to look at: 2, for instance" in printed
    assert "joined.ts: its time stamps begin again or leap 1 ×" in printed
    assert "apart.mp4: its pictures end at" in printed


def test_what_a_user_may_have_forgotten(films: Path, tmp_path: Path) -> None:
    captions = table(tmp_path, *GOOD)
    with pytest.raises(ConfigError, match=r"--captions is subtitle; give a table \(.*\), subtitles, or .* msrvtt"):
        extract(flags(films, "subtitle", tmp_path / "data"))
    with pytest.raises(ConfigError, match="--captions is missing"):
        extract(ExtractFlags(str(films), str(tmp_path / "data")))
    with pytest.raises(ConfigError, match=r"weights of howto-2d are not here: get resnet152-b121ed2d\.pth"):
        extract(flags(films, captions, tmp_path / "data", recipe=("howto-2d",)))
    with pytest.raises(ConfigError, match="--weights names davenet"):
        extract(flags(films, captions, tmp_path / "data", weights={"davenet": "x"}))
    with pytest.raises(ConfigError, match="given twice"):
        extract(flags(films, captions, tmp_path / "data", recipe=("log-mel", "log-mel")))


@pytest.mark.long
@pytest.mark.integration
def test_ray_gives_what_one_process_gives(
    films: Path, tmp_path: Path, local_ray: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also in more runs of Ray Data than one."""
    monkeypatch.setattr(on_ray, "VIDEOS_A_RUN", 5)
    captions = table(tmp_path, *GOOD, *BAD)
    here = extract(flags(films, captions, tmp_path / "here", thumbnails=True))
    remote = extract(replace(flags(films, captions, tmp_path / "ray", thumbnails=True), workers=None))
    assert [found.fingerprint for found in here.manifests] == [found.fingerprint for found in remote.manifests]
    assert here.drops.counts == remote.drops.counts


def test_a_second_extraction_takes_the_words_of_the_first(films: Path, tmp_path: Path) -> None:
    """So that they are trained together, or are in one index; without it joining them says what to do."""
    sound = {"recipe": ("log-mel",)}
    first = extract(flags(films, table(tmp_path, GOOD[0]), tmp_path / "first", max_words=7, **sound)).manifests[0]
    more = table(tmp_path, GOOD[1], name="more.jsonl")
    extract(flags(films, more, tmp_path / "alone", max_words=7, **sound))
    together = f"{first.uri} + {tmp_path / 'alone'}"
    with pytest.raises(DatasetError, match=rf"has another vocabulary than .*; make it with --vocabulary {first.uri}"):
        Manifest.load(together)
    extract(flags(films, more, tmp_path / "second", vocabulary=str(tmp_path / "first"), **sound))
    assert Manifest.load(f"{first.uri} + {tmp_path / 'second'}").rows == 2


@pytest.fixture
def good_flags(films: Path, tmp_path: Path) -> ExtractFlags:
    """By Ray, which must not be started here."""
    return ExtractFlags(str(films), str(tmp_path / "data"), table(tmp_path, *GOOD))


def _refused(good_flags: ExtractFlags, error: type[Exception], words: str) -> None:
    """As a data set and as files alone."""
    for flags in (good_flags, replace(good_flags, captions=None, features_only=True)):
        with pytest.raises(error, match=words):
            command.run(flags)
    assert not Path(good_flags.out).exists()


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"workers": -3}, "--workers is -3; give 0"),
        ({"seconds": -1.0}, "--seconds is -1; it must be above 0"),
        ({"seconds": float("nan")}, "--seconds is nan"),
        ({"decoder_bytes": 0}, "--decoder-bytes is 0; it must be 1 or more"),
        ({"videos_per_shard": 0}, "--videos-per-shard is 0; it must be 1 or more"),
        ({"max_words": 0}, "--max-words is 0"),
        ({"gpus_per_network": -0.5}, "--gpus-per-network is -0.5"),
    ],
)
def test_numbers_out_of_range(wrong: dict[str, object], words: str, good_flags: ExtractFlags) -> None:
    _refused(replace(good_flags, **wrong), ConfigError, words)  # type: ignore[arg-type]


def test_weights_that_are_none(good_flags: ExtractFlags, tmp_path: Path) -> None:
    """Ray would start actors that cannot load them again and again."""
    file = tmp_path / "w.pth"
    file.write_text("no weights")
    wrong = replace(good_flags, recipe=("howto-2d",), weights={"howto-2d": str(file)})
    _refused(wrong, CheckpointError, r"w\.pth is not a file of weights")
