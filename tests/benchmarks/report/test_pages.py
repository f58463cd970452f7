"""A benchmark asks for the place of its page before it measures."""

import json
import re
from pathlib import Path

import pytest

from benchmarks.report.pages import page_file, page_folder, write_page

BENCHMARKS = Path(__file__).parents[3] / "benchmarks"


def test_a_missing_folder_is_made(tmp_path: Path) -> None:
    folder = page_folder(tmp_path / "new" / "folder")
    write_page(folder, "made", {"a": [1]}, "# Made\n")
    assert json.loads((folder / "made.json").read_text()) == {"a": [1]}
    assert (folder / "made.md").read_text() == "# Made\n"
    assert page_file(tmp_path / "other" / "page.md").parent.is_dir()


def test_a_place_that_cannot_be_written_is_told_at_once(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(SystemExit, match="File exists; give a folder"):
        page_folder(tmp_path / "file")
    with pytest.raises(SystemExit, match="is a folder; give the file of the page"):
        page_file(tmp_path)


ASKING = [
    file for file in BENCHMARKS.rglob("*.py") if "import page_f" in (text := file.read_text()) and "def main(" in text
]


@pytest.mark.parametrize("file", ASKING, ids=lambda file: str(file.relative_to(BENCHMARKS)))
def test_the_place_is_asked_for_right_after_the_flags(file: Path) -> None:
    lines = file.read_text().partition("def main(")[2].splitlines()
    asked = next(number for number, line in enumerate(lines) if re.search(r"page_(folder|file)\(flags\.out\)", line))
    assert lines[asked - 1].startswith("    flags = "), "measured before the place was asked for"


def test_it_is_asked_for_by_all_that_have_a_page() -> None:
    assert len(ASKING) > 20
