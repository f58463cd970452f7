"""Names of the videos that a glob gives, and places of those that a store holds."""

from pathlib import Path

import pytest

from vtr_core.data.sources import video_files as inventory
from vtr_core.data.sources.captioned_videos import subtitle_rows
from vtr_core.data.sources.source import Drops
from vtr_core.data.sources.video_files import Inventory, VideoFile
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


def test_names_of_a_relative_glob_are_its_paths(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _films(tmp_path)
    monkeypatch.chdir(tmp_path)
    assert [file.name for file in Inventory("part/*.mp4").files] == ["part/b.mp4"]


def test_settings_of_a_store_are_no_glob(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(inventory, "_in_folder", _one_film)
    films = Inventory(f"s3://bucket/films{SETTINGS}")
    assert films.find("a").uri == films.by_id("a") == f"s3://bucket/films/a.mp4{SETTINGS}"
    assert films.by_id("gone") == f"s3://bucket/films/gone{SETTINGS}"


def test_paths_of_a_list_in_a_store_have_its_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(inventory, "filled_lines", lambda _: ["a.mp4", "part/b.mp4"])
    files = Inventory(f"s3://bucket/films/all.txt{SETTINGS}").files
    assert [file.uri for file in files] == [f"s3://bucket/films/{name}{SETTINGS}" for name in ("a.mp4", "part/b.mp4")]


def test_subtitles_are_looked_for_beside_a_film_in_a_store(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    monkeypatch.setattr(inventory, "_in_folder", _one_film)
    monkeypatch.setattr("vtr_core.storage.exists", lambda place: asked.append(place.uri))
    drops = Drops()
    assert not list(subtitle_rows(Inventory(f"s3://bucket/films{SETTINGS}"), drops))
    assert asked == [f"s3://bucket/films/a{suffix}{SETTINGS}" for suffix in (".srt", ".vtt")]
    assert drops.counts == {"missing_file": 1}


def _one_film(folder: Location) -> list[VideoFile]:
    return [VideoFile("a.mp4", (folder / "a.mp4").uri)]


def _films(folder: Path) -> None:
    (folder / "part").mkdir()
    for name in ("a.mp4", "part/b.mp4"):
        (folder / name).touch()
