"""Frames and thumbnails of clips are the pictures that decoding of every frame finds at their times."""

import io
import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
from PIL import Image

from pipelines.cli import run
from pipelines.extract.command import ExtractFlags, extract
from tests.builders.small_videos import grey_video, number
from tests.reference.video import frame_times, shown_at
from vtr_core.data.manifest import Manifest, ThumbnailFile
from vtr_core.data.records.schema import FrameSchema
from vtr_core.data.shards.thumbnails import Thumbnails
from vtr_core.errors import ConfigError, DatasetError

VARIABLE = [0.0, 0.04, 0.5, 0.52, 0.9, 1.7, 2.0, 2.4, 2.44, 3.0]
RATE = 5.0


@pytest.fixture(scope="module")
def films(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("films")
    grey_video(folder / "one.mp4", VARIABLE, (64, 32), sound_s=3.0)
    grey_video(folder / "two.mkv", [k / 10 for k in range(12)], (32, 64))
    (folder / "text.mp4").write_text("no video")
    rows = [
        ("a", "the film", "one.mp4", "", ""),
        ("b", "the film again", "one.mp4", "", ""),
        ("c", "its middle", "one.mp4", "0.9", "2.1"),
        ("d", "a moment", "one.mp4", "1.21", "1.25"),
        ("e", "an upright film", "two.mkv", "", ""),
        ("f", "words", "text.mp4", "", ""),
        ("g", "too late", "two.mkv", "7", "8"),
    ]
    names = ("id", "caption", "video", "start", "end")
    lines = [json.dumps(dict(zip(names, row, strict=True))) for row in rows]
    (folder / "captions.jsonl").write_text("\n".join(lines))
    return folder


def flags(films: Path, out: Path, **changes: object) -> ExtractFlags:
    captions = str(films / "captions.jsonl")
    return ExtractFlags(str(films), str(out), captions, recipe=("log-mel",), workers=0, **changes)  # type: ignore[arg-type]


def frames_flags(films: Path, out: Path, **changes: object) -> ExtractFlags:
    settings = {"records": "frames", "frame_size": 32, "frame_rate": RATE, "recipe": ExtractFlags.recipe, **changes}
    return replace(flags(films, out), **settings)  # type: ignore[arg-type]


def jpeg(content: bytes) -> np.ndarray:
    return np.asarray(Image.open(io.BytesIO(content)))


def shown(path: Path, start: float, end: float) -> list[tuple[float, int]]:
    """Time and number of the frame of every sample between two times, from decoding all frames."""
    numbers = shown_at(*frame_times(path), RATE)
    samples = [((k + 0.5) / RATE, result) for k, result in enumerate(numbers)]
    return [(time, result) for time, result in samples if start <= time < end]


def test_frames_are_those_shown_within_each_clip(films: Path, tmp_path: Path) -> None:
    result = extract(frames_flags(films, tmp_path / "d"))
    (manifest,) = result.manifests
    assert manifest.schema == FrameSchema((), 20, 32, 32)
    assert result.drops.counts == {"not_a_video": 1, "outside_features": 1}
    assert manifest.shards[0].thumbnails is None
    rows = {row["clip_id"]: row for row in pq.read_table(tmp_path / "d" / "part-00000.parquet").to_pylist()}
    assert rows["a"]["captions"] == ["the film", "the film again"]
    assert [rows[name]["captions"] for name in "cde"] == [["its middle"], ["a moment"], ["an upright film"]]
    assert (rows["c"]["video_id"], rows["c"]["start"], rows["c"]["end"]) == ("one", 0.9, 2.1)
    frames_of = {
        "a": shown(films / "one.mp4", 0, 99),
        "c": shown(films / "one.mp4", 0.9, 2.1),
        "d": shown(films / "one.mp4", 1.2, 1.4)[:1],  # none of its own: the nearest
        "e": shown(films / "two.mkv", 0, 99),
    }
    for name, expected in frames_of.items():
        pictures = [jpeg(content) for content in rows[name]["frames"]]
        assert list(zip(rows[name]["times"], map(number, pictures), strict=True)) == expected
        assert {picture.shape for picture in pictures} == {(32, 32, 3)}


def test_a_fixed_number_of_frames_is_taken_in_equal_steps(films: Path, tmp_path: Path) -> None:
    extract(frames_flags(films, tmp_path / "d", frames=3))
    rows = {row["clip_id"]: row for row in pq.read_table(tmp_path / "d" / "part-00000.parquet").to_pylist()}
    every = shown(films / "one.mp4", 0, 99)
    assert rows["a"]["times"] == [every[0][0], every[(len(every) - 1) // 2][0], every[-1][0]]
    assert len(rows["d"]["frames"]) == 1


@pytest.mark.parametrize("records", ["clips", "frames"])
def test_thumbnails_are_from_the_middle_of_what_they_are_of(records: str, films: Path, tmp_path: Path) -> None:
    settings = {"thumbnails": True, "thumbnail_size": 48}
    make = frames_flags if records == "frames" else flags
    (manifest,) = extract(make(films, tmp_path / "d", **{"records": records, **settings})).manifests
    read = Manifest.load(manifest.uri)
    assert read.shards == manifest.shards
    names = {"clips": "abcde", "frames": "acde"}[records]
    thumbnail = Thumbnails(read).find([*names, "nothing"])
    assert sorted(thumbnail) == sorted(names)
    times, end = frame_times(films / "one.mp4")
    spans = {"a": (0.0, end), "c": (0.9, 2.1), "d": (1.21, 1.25)}
    for name, span in spans.items():
        assert (thumbnail[name].start, thumbnail[name].end) == pytest.approx(span, abs=0.1)
        middle = sum(span) / 2
        samples = {(k + 0.5) / 2: item for k, item in enumerate(shown_at(times, end, 2.0))}
        nearest = min(samples, key=lambda time: (abs(time - middle), time))
        assert number(jpeg(thumbnail[name].jpeg)) == samples[nearest]
        assert jpeg(thumbnail[name].jpeg).shape == (24, 48, 3)
    assert jpeg(thumbnail["e"].jpeg).shape == (48, 24, 3)


def test_training_reads_no_thumbnail_and_pages_say_when_one_is_gone(films: Path, tmp_path: Path) -> None:
    plain = extract(flags(films, tmp_path / "plain")).manifests[0]
    options = extract(flags(films, tmp_path / "with", thumbnails=True)).manifests[0]
    beside = options.shards[0].thumbnails
    assert isinstance(beside, ThumbnailFile)
    assert replace(options.shards[0], thumbnails=None) == plain.shards[0]
    place = Path(options.uri) / beside.file
    content = bytearray(place.read_bytes())
    assert len(content) == beside.bytes
    content[content.index(b"\xff\xd8\xff") + 20] ^= 1
    place.write_bytes(content)
    with pytest.raises(DatasetError, match=r"thumbnails cannot be read .*restore or rebuild the data set"):
        Thumbnails(options).find(["a"])
    place.unlink()
    with pytest.raises(DatasetError, match="thumbnails cannot be read"):
        Thumbnails(options).find(["a"])


def test_what_does_not_go_together(films: Path, tmp_path: Path) -> None:
    for wrong, message in (
        ({"frame_size": 4}, "--frame-size is 4; it must be from 8 to 4096 pixels"),
        ({"frame_rate": 0.0}, "--frame-rate is 0; it must be above 0"),
        ({"frames": 0}, "--frames is 0; it must be 1 or more"),
        ({"frame_quality": 0}, "--frame-quality is 0; it must be from 1 to 100"),
        ({"recipe": ("log-mel",)}, "--records frames keeps pictures and no features"),
        ({"thumbnails": True, "thumbnail_size": 5000}, "--thumbnail-size is 5000"),
    ):
        with pytest.raises(ConfigError, match=message):
            extract(frames_flags(films, tmp_path / "d", **wrong))
    with pytest.raises(ConfigError, match=r"--features-only writes \.npy files alone"):
        run("extract", [str(films), "--features-only", "--out", str(tmp_path / "d"), "--thumbnails", "--workers", "0"])
