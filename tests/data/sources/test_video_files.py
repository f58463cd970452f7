"""Video files of folders, globs and lists, with captions from annotations and subtitles."""

import errno
import json
import os
import pickle
import unicodedata
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from vtr_core.data.sources import video_files as inventory
from vtr_core.data.sources.captioned_videos import CaptionedVideo, annotated_videos, captioned_videos, subtitle_rows
from vtr_core.data.sources.features.feature_arrays import read_feature
from vtr_core.data.sources.instructional import narration
from vtr_core.data.sources.pairs import PairRow
from vtr_core.data.sources.published_captions import Member, read_values
from vtr_core.data.sources.source import Drops
from vtr_core.data.sources.video_files import Inventory
from vtr_core.storage import Location, locate
from vtr_core.unusable import UnusableError

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


def _one_film(folder: Location, left_out: list[UnusableError]) -> list[str]:
    return ["a.mp4"]


def _films(folder: Path) -> None:
    (folder / "part").mkdir()
    for name in ("a.mp4", "part/b.mp4"):
        (folder / name).touch()


NAMES = ["a b.mp4", "a#b.mp4", "100%.mp4", "a%20b.mp4", "what?.mp4", "[HD].mp4", "ü.mp4"]


@pytest.mark.parametrize("folder", ["films", "films [HD]", "what? films", "films.txt", "50% of #1"])
@pytest.mark.parametrize("kind", ["path", "uri", "raw uri"])
def test_a_folder_that_is_there_is_one_whatever_it_and_its_files_are_called(
    folder: str, kind: str, tmp_path: Path
) -> None:
    place = tmp_path / folder
    place.mkdir()
    for name in NAMES:
        (place / name).write_text(name)
    given = {"path": str(place), "uri": place.as_uri(), "raw uri": f"file://{place}"}[kind]
    files = Inventory(given).files
    assert [file.name for file in files] == sorted(NAMES)
    assert [locate(file.uri).path for file in files] == [str(place / name) for name in sorted(NAMES)]
    assert [(locate(given) / name).open_stream().read().decode() for name in NAMES] == NAMES


def test_brackets_of_a_folder_are_no_glob_and_those_behind_it_are(tmp_path: Path) -> None:
    (tmp_path / "films [HD]").mkdir()
    for name in ("a.mp4", "b.mp4", "b.mp4.part"):
        (tmp_path / "films [HD]" / name).touch()
    (tmp_path / "films [HD]" / "c.mp4").mkdir()
    files = Inventory(str(tmp_path / "films [HD]" / "[b-z].mp4")).files
    assert [file.name for file in files] == ["b.mp4"]


def test_the_home_folder_is_not_meant_where_a_folder_is_called_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "~films").mkdir()
    assert locate("~films").path == str(tmp_path / "~films")
    assert locate("~nobody-of-this-name/films").path == str(tmp_path / "~nobody-of-this-name/films")


@pytest.mark.linux
@pytest.mark.parametrize("place", ["films", "films/**/*.mp4"])
def test_a_bad_name_and_a_closed_folder_are_left_out_and_named(
    place: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in (b"a.mp4", b"caf\xe9.mp4", b"part/b.mp4", b"d\xe9/c.mp4", b"closed/d.mp4"):
        file = os.path.join(os.fsencode(tmp_path), b"films", name)
        os.makedirs(os.path.dirname(file), exist_ok=True)
        Path(os.fsdecode(file)).touch()
    is_glob = "*" in place
    if not is_glob:
        _close(tmp_path / "films" / "closed", monkeypatch)
    inventory = Inventory(str(tmp_path / place))
    expected = ["a.mp4", "closed/d.mp4", "part/b.mp4"] if is_glob else ["a.mp4", "part/b.mp4"]
    assert [file.name for file in inventory.files] == expected
    told = "\n".join(map(str, inventory.left_out))
    assert "caf\\xe9.mp4: the name is not UTF-8; rename it" in told
    assert is_glob or f"{tmp_path}/films/closed cannot be read as a folder (Permission denied)" in told


def _close(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Make a folder one that may not be read, also for root."""
    scandir = os.scandir

    def refused(place: str) -> object:
        if os.fspath(place) == str(folder):
            raise PermissionError(errno.EACCES, "Permission denied", place)
        return scandir(place)

    monkeypatch.setattr("os.scandir", refused)


def test_a_link_that_leads_out_leaves_the_others(tmp_path: Path) -> None:
    (tmp_path / "films").mkdir()
    for name in ("films/a.mp4", "outside.mp4"):
        (tmp_path / name).touch()
    (tmp_path / "films" / "b.mp4").symlink_to(tmp_path / "outside.mp4")
    for place in (tmp_path / "films", tmp_path / "films" / "*.mp4"):
        inventory = Inventory(str(place))
        assert [file.name for file in inventory.files] == ["a.mp4"]
        assert [fault.reason for fault in inventory.left_out] == ["unsafe_id"]
        assert [file.name for file in Inventory(str(place), anywhere=True).files] == ["a.mp4", "b.mp4"]


def test_a_link_to_the_folder_above_is_no_circle(tmp_path: Path) -> None:
    (tmp_path / "films" / "part").mkdir(parents=True)
    (tmp_path / "films" / "part" / "a.mp4").touch()
    (tmp_path / "films" / "part" / "up").symlink_to("..")
    assert [file.name for file in Inventory(str(tmp_path / "films")).files] == ["part/a.mp4"]


@pytest.mark.parametrize("forms", [("NFC", "NFD"), ("NFD", "NFC")])
def test_accents_may_be_composed_or_apart(forms: tuple[str, str], tmp_path: Path) -> None:
    """In a table, in the names of subtitles, and in those of arrays of features."""
    stored, asked = (unicodedata.normalize(form, "café") for form in forms)
    (tmp_path / f"{stored}.mp4").touch()
    (tmp_path / f"{asked}.srt").write_text("1\n00:00:01,000 --> 00:00:02,000\na man cooks\n")
    np.save(tmp_path / f"{stored}.npy", np.ones((2, 3), np.float32))
    inventory = Inventory(str(tmp_path))
    assert inventory.find(asked).name == inventory.find(f"{asked}.mp4").name == f"{stored}.mp4"
    assert [row["caption"] for row in subtitle_rows(inventory, Drops(strict=True))] == ["a man cooks"]
    assert read_feature(locate(str(tmp_path)) / f"{asked}.npy").shape == (2, 3)


def test_a_stem_of_two_files_claims_the_id_of_neither(tmp_path: Path) -> None:
    for name in ("a.mp4", "a.mkv", "b.mp4", "part/b.mp4"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    table = tmp_path / "t.csv"
    table.write_text("id,caption,video\n1,a man cooks,a\n2,a dog runs,a.mkv\n3,a cat sits,b\n4,it sleeps,b.mp4\n")
    drops = Drops()
    videos = captioned_videos(Inventory(str(tmp_path)), str(table), drops)
    assert [(video.video_id, video.content.uri, video.content.num_rows) for video in videos] == [
        ("a", str(tmp_path / "a.mkv"), 1),
        ("b", str(tmp_path / "b.mp4"), 2),
    ]
    assert drops.examples == {
        "duplicate_id": [f"{table}, row 1: the video 'a' may be a.mkv and a.mp4; give the whole name"]
    }


@pytest.mark.parametrize(
    ("text", "caption"),
    [
        (r"{\an8}A man cooks", "A man cooks"),
        (r"<i>A man</i>\Ncooks{\pos(10,20)}", "A man cooks"),
        ("<v Bob><c.loud>A man</c> <00:00:01.500>cooks", "A man cooks"),
        ("{y:i}A man<br/>cooks", "A man cooks"),
        ("I &lt;3 {you} & 1 < 2 > 0", "I <3 {you} & 1 < 2 > 0"),
    ],
)
@pytest.mark.parametrize("settings", ["", " X1:63 X2:223 Y1:43 Y2:58", " align:start position:0%"])
@pytest.mark.parametrize("suffix", ["srt", "vtt", "SRT"])
def test_captions_hold_no_marks_of_players(text: str, caption: str, settings: str, suffix: str, tmp_path: Path) -> None:
    (tmp_path / "a.mp4").touch()
    times = (
        f"00:00:01.000 --> 00:00:02.000{settings}"
        if "X1" not in settings or suffix != "vtt"
        else "00:01.000 --> 00:02.000"
    )
    head = "WEBVTT\n\n" if suffix == "vtt" else ""
    (tmp_path / f"a.{suffix}").write_text(f"{head}1\n{times}\n{text}\n")
    (row,) = subtitle_rows(Inventory(str(tmp_path)), Drops(strict=True))
    assert (row["caption"], row["start"], row["end"]) == (caption, 1.0, 2.0)


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
