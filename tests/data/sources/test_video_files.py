"""Video files of folders, globs and lists, with captions from annotations and subtitles."""

import json
import pickle
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from vtr_core.data.sources import video_files as inventory
from vtr_core.data.sources.captioned_videos import CaptionedVideo, annotated_videos, subtitle_rows
from vtr_core.data.sources.instructional import narration
from vtr_core.data.sources.pairs import PairRow
from vtr_core.data.sources.published_captions import Member, read_values
from vtr_core.data.sources.source import Drops
from vtr_core.data.sources.video_files import Inventory
from vtr_core.storage import Location

SETTINGS = "?endpoint_override=localhost:1&scheme=http"


@pytest.mark.parametrize(
    ("pattern", "names"),
    [("*.mp4", ["a.mp4"]), ("**/*.mp4", ["a.mp4", "part/b.mp4"]), ("par[t]/*", ["part/b.mp4"])],
)
def test_names_of_an_absolute_glob_do_not_tell_where_its_folder_is(
    pattern: str, names: list[str], tmp_path: Path
) -> None:
    _films(tmp_path)
    files = Inventory(str(tmp_path / pattern)).files
    assert [file.name for file in files] == names
    assert [file.uri for file in files] == [str(tmp_path / name) for name in names]


def test_paths_of_a_list_in_a_store_have_its_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(inventory, "filled_lines", lambda _: ["a.mp4", "part/b.mp4"])
    files = Inventory(f"s3://bucket/films/all.txt{SETTINGS}").files
    assert [file.uri for file in files] == [f"s3://bucket/films/{name}{SETTINGS}" for name in ("a.mp4", "part/b.mp4")]


def test_subtitles_are_looked_for_beside_a_film_in_a_store(monkeypatch: pytest.MonkeyPatch) -> None:
    requested: list[str] = []
    monkeypatch.setattr(inventory, "_in_folder", _one_film)
    monkeypatch.setattr("vtr_core.storage.exists", lambda place: requested.append(place.uri))
    drops = Drops()
    assert not list(subtitle_rows(Inventory(f"s3://bucket/films{SETTINGS}"), drops))
    assert requested == [f"s3://bucket/films/a{suffix}{SETTINGS}" for suffix in (".srt", ".vtt", ".SRT", ".VTT")]
    assert drops.counts == {"missing_file": 1}


def _one_film(folder: Location, left_out: Callable[[str], None]) -> list[str]:
    return ["a.mp4"]


def _films(folder: Path) -> None:
    (folder / "part").mkdir()
    for name in ("a.mp4", "part/b.mp4"):
        (folder / name).touch()


@pytest.fixture
def films(tmp_path: Path) -> Inventory:
    (tmp_path / "films").mkdir()
    for name in ("a.mp4", "b.mp4"):
        (tmp_path / "films" / name).touch()
    return Inventory(str(tmp_path / "films"))


def test_narrations_of_videos_that_are_there_are_read_at_once(
    films: Inventory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    requested: list[list[str]] = []

    def reading(location: Location, expected: Sequence[Member]) -> Iterator[Any]:
        requested.append([member.name for member in expected])
        return read_values(location, expected)

    monkeypatch.setattr(narration, "read_values", reading)
    message = {"start": [0], "end": [9], "text": ["a dog"]}
    (tmp_path / "c.json").write_text(json.dumps({"a": message, "gone": {"start": 1}, "b": message}))
    drops = Drops()
    videos = annotated_videos(films, "howto100m", str(tmp_path / "c.json"), drops)
    assert [(video.video_id, [row.clip_id for row in video.content.rows]) for video in videos] == [
        ("a", ["a:0.0-9.0"]),
        ("b", ["b:0.0-9.0"]),
    ]
    assert requested == [["a", "b"]]
    assert drops.counts == {"missing_file": 1}


def test_untimed_captions_without_a_word_are_dropped(films: Inventory, tmp_path: Path) -> None:
    rows = [{"video_id": "a", "caption": caption} for caption in ("a dog", None, " ")]
    (tmp_path / "c.jsonl").write_text("\n".join(map(json.dumps, rows)))
    drops = Drops()
    (video,) = annotated_videos(films, "howto100m", str(tmp_path / "c.jsonl"), drops)
    assert [row.caption for row in video.content.rows] == ["a dog"]
    assert drops.counts == {"empty_caption": 2}


ROWS = (
    PairRow("a:0.1-8", "a", None, 0.1, 8, "ein Hund “läuft”\n\x85 🎬", ("films/a.mp4", None)),
    PairRow("a", "a", "test", None, None, "", (), (("channel", "news 0"), ("year", ""))),
)


def test_rows_come_back_as_they_were() -> None:
    video = CaptionedVideo.of("films/a.mp4", ROWS, keep=True)
    assert video.rows == ROWS
    assert [type(row.end) for row in video.rows] == [int, type(None)]
    assert pickle.loads(pickle.dumps(video)) == video
    assert CaptionedVideo.of("films/a.mp4", ()).rows == ()
