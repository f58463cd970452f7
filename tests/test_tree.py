"""A stranger finds things: small folders, each of which says what lives there."""

from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
FOLDERS = [
    folder.relative_to(ROOT)
    for root in ("vtr_core", "pipelines", "cluster", "tune_spaces", "benchmarks")
    for folder in [ROOT / root, *(ROOT / root).rglob("*")]
    if folder.is_dir() and list(folder.glob("*.py"))
]
LARGEST = 16


@pytest.mark.parametrize("folder", FOLDERS, ids=str)
def test_a_folder_is_small(folder: Path) -> None:
    modules = [file.name for file in (ROOT / folder).glob("*.py") if not file.name.startswith("__")]
    assert len(modules) <= LARGEST, f"{folder} has {len(modules)} modules; cut it by idea"


@pytest.mark.parametrize("folder", [folder for folder in FOLDERS if folder.parts[0] != "benchmarks"], ids=str)
def test_a_package_says_what_lives_there(folder: Path) -> None:
    assert (ROOT / folder / "__init__.py").read_text().startswith('"""')
