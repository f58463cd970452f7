"""Names of the videos that a glob gives."""

from pathlib import Path

import pytest

from vtr_core.data.sources.videos.inventory import Inventory


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


def _films(folder: Path) -> None:
    (folder / "part").mkdir()
    for name in ("a.mp4", "part/b.mp4"):
        (folder / name).touch()
