"""A local folder is checked before the work that is to be written there, and nothing is left behind."""

from pathlib import Path

import pytest

from vtr_core.storage import check_writable, locate
from vtr_core.storage.fault import StorageError


def test_a_new_folder_is_accepted_and_not_made(tmp_path: Path) -> None:
    check_writable(locate(tmp_path / "new" / "deep"))
    check_writable(locate(tmp_path))
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("name", ["film.mp4", "film.mp4/below"])
def test_a_file_is_no_folder(tmp_path: Path, name: str) -> None:
    (tmp_path / "film.mp4").touch()
    with pytest.raises(StorageError, match=r"film\.mp4 is a file; name a folder"):
        check_writable(locate(tmp_path / name))


@pytest.mark.linux
def test_a_place_where_nothing_can_be_written_is_named() -> None:
    with pytest.raises(StorageError, match="/proc/features cannot be written: a file in /proc is refused"):
        check_writable(locate("/proc/features"))
