"""The commands of the page on video files do what they say, as they are written."""

import csv
import re
import shlex
from pathlib import Path

import pytest

from pipelines.cli import run
from tests.builders.small_videos import grey_video
from tests.distribution.project import ROOT
from vtr_core.data.manifest import Manifest, splits
from vtr_core.data.records.schema import FrameSchema

NUM_VIDEOS = 90


def commands() -> list[list[str]]:
    """The lines of the page's first code block, without `vtr` and remarks."""
    block = (ROOT / "docs/tutorials/own-videos.md").read_text().split("```")[1]
    return [shlex.split(re.sub(r"\s{2,}#.*", "", line))[1:] for line in block.strip().splitlines()]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working directory as the page has it: videos, captions of them, subtitles beside one."""
    (tmp_path / "videos").mkdir()
    for number in range(NUM_VIDEOS):
        grey_video(tmp_path / "videos" / f"{number}.mp4", [0.0, 0.5, 1.0], sound_s=1.0)
    (tmp_path / "videos" / "0.srt").write_text("1\n00:00:00,000 --> 00:00:01,000\nhello there\n")
    with (tmp_path / "clips.csv").open("w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(("id", "caption", "video"))
        rows.writerows((f"clip{number}", "a grey film", f"{number}.mp4") for number in range(NUM_VIDEOS))
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.long
def test_they_do_what_they_say(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    settings = commands()
    names = ["index", "extract", "train", "evaluate", "evaluate", "index", *["extract"] * 6]
    assert [words[0] for words in settings] == names
    for name, *words in settings[:-1]:
        run(name, [*words, "--workers", "0"] if name in ("index", "extract") else words)
    run("extract", settings[-1][1:])
    assert set(splits("data/own")) == {"train", "val", "test"}
    assert sum(Manifest.load(uri).rows for uri in splits("data/own").values()) == NUM_VIDEOS
    assert Manifest.load("data/told").rows == 1
    assert all(shard.thumbnails for shard in Manifest.load("data/seen").shards)
    assert Manifest.load("data/frames").schema == FrameSchema((), 20, 224, 224)
    assert len(list((folder / "features" / "imagenet-lite").iterdir())) == NUM_VIDEOS
    assert "imagenet-lite: video, 1280 values" in capsys.readouterr().out
